import type { DeliveryPage } from '../../../console/api/schemas/deliveries.ts';
import type { ReplayView } from '../../../console/api/schemas/replays.ts';
import type { DryResult, ReplayResult } from '../../../webhooks/records/delivery-record-schema.ts';
import { make } from '../../shared/dom.ts';
import { durationText } from '../../shared/locale.ts';
import { namedEvent } from '../event-kinds.ts';
import { faultText, findHandlers, handlerName, handlerText } from '../handler-names.ts';
import { text, translate } from '../language.ts';
import {
  asCounted,
  askedReplay,
  failingText,
  progressText,
  type ReplayRequest,
  replayButton,
  sendText,
  startReplay,
} from '../replay-button.ts';
import { ask, lines, withQuery } from '../request.ts';
import { actionButton, badge, facts, heading, panel, replayBadge, type Stage, wayTo } from '../section.ts';
import { mayChange } from '../session.ts';
import { datum, numberText } from '../shown.ts';
import { renew } from '../table.ts';
import { bodySource } from '../values.ts';

const pauseMs = 700;

/** After this number of requests for the progress, the results so far are requested again. */
const resultsEvery = 4;

/** Maximum number of results on the page. The API's reply contains the others. */
const maxResults = 10_000;

const maxKinds = 5;

/** Shows the progress of a replay and the results of its requests. */
export async function showReplay({ main, route, signal }: Stage): Promise<void> {
  const id = route.id.replace(/^replays\//, '');
  const path = `/api/replays/${encodeURIComponent(id)}`;
  const [first, { handlers }] = await Promise.all([ask<ReplayView>('GET', path, { signal }), findHandlers(signal)]);
  const request = askedReplay(id);
  const isDryRun = first.dry_run;
  let replay = first;
  const cancel = actionButton(handlerText('cancelReplay'), 'close', () => ask('DELETE', path));
  const sendNow = actionButton(
    sendText(first),
    'replay',
    () => startReplay({ ...asCounted(first), ...request, dry_run: false }),
    'primary',
  );
  const again = replayButton(text('replayFailed'), () => (knowsFailed(replay) ? theFailed(replay, path, signal) : onlyFailed(request)));
  const status = make('div', { role: 'status' });
  const results = make('div.results');
  main.replaceChildren(
    wayTo('deliveries'),
    heading(
      text(isDryRun ? 'dryRun' : 'replay'),
      mayChange() && cancel,
      again,
      mayChange() && isDryRun && request !== undefined && sendNow,
    ),
    panel(text('progress'), status),
    panel(handlerText(isDryRun ? 'whatWouldBeSent' : 'results'), results),
  );
  const show = (replay: ReplayView) => {
    cancel.hidden = isOver(replay);
    again?.toggleAttribute('hidden', isDryRun || !isOver(replay) || (replay.failed === 0 && replay.state === 'done'));
    if (knowsFailed(replay)) again?.lastChild?.replaceWith(handlerText('replayThese', { count: replay.failed }));
    sendNow.hidden = !isOver(replay) || replay.requests === 0;
    sendNow.lastChild?.replaceWith(sendText(replay));
    const warning = isDryRun ? failingText(handlers, replay) : '';
    renew(status, [progressView(replay, isDryRun), ...(warning === '' ? [] : [make('p.reason', warning)])]);
  };
  let turn = 0;
  for (show(replay); !isOver(replay); show(replay)) {
    // An opened list is not replaced while somebody reads it.
    if (turn++ % resultsEvery === 0 && !results.querySelector('[open]')) await showResults(results, `${path}/results`, replay, signal);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    replay = await ask<ReplayView>('GET', path, { signal });
  }
  await showResults(results, `${path}/results`, replay, signal);
}

/** Whether the results say which requests failed. */
function knowsFailed({ state, results_left_out }: ReplayView): boolean {
  return state === 'done' && results_left_out === 0;
}

/** Returns the request that repeats the failed deliveries of a replay. Its results do not name them, so they are searched. */
async function theFailed({ created }: ReplayView, path: string, signal: AbortSignal): Promise<ReplayRequest> {
  const keyOf = ({ handler, events: [first] }: { handler: string; events: readonly { uuid: string }[] }) => `${handler} ${first?.uuid}`;
  const failed = new Set<string>();
  for await (const result of lines<ReplayResult>(`${path}/results`, signal))
    if ('outcome' in result && result.outcome !== 'delivered') failed.add(keyOf(result));
  const deliveries: string[] = [];
  let cursor: string | null = null;
  do {
    const query = { kind: 'replays', since: created, limit: '500', cursor: cursor ?? undefined };
    const found: DeliveryPage = await ask('GET', withQuery('/api/deliveries', query), { signal });
    for (const delivery of found.deliveries)
      if (delivery.outcome !== 'delivered' && failed.delete(keyOf(delivery))) deliveries.push(delivery.id);
    cursor = found.next;
  } while (cursor !== null && failed.size > 0);
  return { deliveries };
}

/** Returns the request for those events of a replay that still have to be sent. @param request of the replay, if this tab made it */
function onlyFailed({ filter = {}, handlers }: ReplayRequest = {}): ReplayRequest {
  const { since = [], until = [], id = [] } = filter;
  return { failed: true, filter: { since, until, id }, ...(handlers && { handlers }) };
}

function isOver({ state }: ReplayView): boolean {
  return state !== 'waiting' && state !== 'running';
}

function progressView(replay: ReplayView, isDryRun: boolean): HTMLElement {
  const { done, total, delivered, failed, details, requests, events, handlers, seconds_left } = replay;
  const bar = make('progress', { max: Math.max(requests, 1), ariaLabel: text('progress') });
  if (total === 0) bar.value = bar.max;
  else if (total !== null || isOver(replay)) bar.value = done;
  if (isOver(replay) && replay.state !== 'done') bar.className = 'ended';
  return make(
    'div',
    bar,
    facts(
      [text('state'), replayBadge(replay)],
      [text('requests'), progressText(replay)],
      [text('events'), requests > 0 && `${numberText(events)} ${text('toHandlers', { count: handlers })}`],
      [handlerText('timeLeft'), seconds_left !== null && !isOver(replay) && durationText(seconds_left)],
      [text('outcome_delivered'), isDryRun ? undefined : numberText(delivered)],
      // The state of a replay that is done says how many failed.
      [text('outcome_failed'), isDryRun || replay.state === 'done' ? undefined : failed > 0 ? badge(numberText(failed), 'bad') : '0'],
      [text('reason'), details === '' ? undefined : datum(details)],
    ),
  );
}

async function showResults(place: HTMLElement, path: string, replay: ReplayView, signal: AbortSignal): Promise<void> {
  let count = 0;
  const groups = new Map<string, ReplayResult[]>();
  for await (const result of lines<ReplayResult>(path, signal)) {
    if (++count > maxResults) break;
    const kind = resultKind(result);
    groups.set(kind, [...(groups.get(kind) ?? []), result]);
  }
  const isCut = count > maxResults || replay.results_left_out > 0;
  renew(place, [
    ...[...groups.values()].map(groupView),
    ...(count === 0 ? [make('p.nothing', nothingText(replay))] : []),
    ...(count > 0 && isCut ? [make('p.hint', handlerText('moreResults', { path }))] : []),
  ]);
}

function nothingText(replay: ReplayView): string {
  if (!isOver(replay)) return text('loading');
  return replay.results_left_out > 0 ? handlerText('resultsGone') : text('noResults');
}

/** Returns a key for grouping results that differ only in names, IDs and times. */
function resultKind(result: ReplayResult): string {
  if ('skipped' in result) return `skipped ${result.reason}`;
  if ('outcome' in result) return `${result.outcome} ${result.handler} ${result.status ?? ''} ${result.details ?? ''}`;
  const { handler } = result;
  const differences = knownDifferences(result);
  if (!differences || differences.length === 0) return `${differences === null ? 'new' : 'same'} ${handler}`;
  const pattern = differences.map((line) => line.replace(/"(?:[^"\\]|\\.)*"(?!\s*:)/g, '""').replace(/[\da-f]{8}-[\da-f-]{27}|\d+/g, '0'));
  return `differ ${handler} ${pattern.join('\n')}`;
}

function groupView(results: readonly ReplayResult[]): HTMLElement {
  const [first, ...others] = results;
  if (!first) return make('div');
  const rest = make('div');
  const more = make('details', make('summary', handlerText('moreOfKind', { count: others.length })), rest);
  // Create the elements only when the list is opened, because there can be hundreds.
  more.addEventListener('toggle', () => rest.childElementCount === 0 && rest.append(...others.map((result) => resultItem(result))));
  return make('section.group', resultItem(first, results), others.length > 0 && more);
}

/** Shows a result. @param group all results that the shown result represents */
function resultItem(result: ReplayResult, group: readonly ReplayResult[] = [result]): HTMLElement {
  const events = group.flatMap((one) => ('events' in one ? one.events : []));
  // If each request has one event, the number of events says how many requests there are.
  const isTold = group.length === 1 || group.length === events.length;
  const times = isTold ? [] : [' ', make('b', `× ${numberText(group.length)}`)];
  if ('skipped' in result) return article([badge(translate('outcome', 'skipped'), 'bad'), ...times], hint([result.skipped, result.reason]));
  const about = [...times, ' ', datum(handlerName(result.handler)), ' ', namedKinds(events)];
  if ('outcome' in result) {
    const { outcome, status, details, fault } = result;
    return article(
      [badge(translate('outcome', outcome), outcome === 'delivered' ? 'good' : 'bad'), ...about],
      hint(fault === undefined && details?.startsWith(`${status} `) ? [details] : [status, faultText(fault, details ?? '')]),
    );
  }
  const { request } = result;
  const differences = knownDifferences(result);
  return article(
    [comparison(differences), ...about],
    make('p', badge(request.method), ' ', datum(request.url, 'code')),
    differences && differences.length > 0 ? diffSource(differences) : undefined,
    make('details', make('summary', text('request')), bodySource(request.body, text('request'))),
  );
}

/** Returns how a request differs from the one that was sent; null if none was, so that nobody thinks that the receiver has it already. */
function knownDifferences({ differences, was_sent }: DryResult): string[] | null {
  return was_sent === false ? null : differences;
}

function article(head: (HTMLElement | string)[], ...content: (HTMLElement | undefined)[]): HTMLElement {
  return make('article.result', make('p', ...head), ...content);
}

function hint(words: readonly (string | number | undefined)[]): HTMLElement {
  return make('p.hint', datum(words.filter((part) => part !== undefined).join(' ')));
}

function comparison(differences: string[] | null): HTMLElement {
  if (!differences) return badge(handlerText('notSentBefore'));
  return differences.length === 0 ? badge(handlerText('sameAsThen'), 'good') : badge(handlerText('wouldDiffer'), 'warn');
}

/** Names the kinds of events, and says how many there are of each. */
function namedKinds(events: readonly { id: string }[]): HTMLElement {
  const counts = new Map<string, number>();
  for (const { id } of events) counts.set(id, (counts.get(id) ?? 0) + 1);
  const kinds = [...counts];
  return make(
    'span.badges',
    ...kinds.slice(0, maxKinds).map(([id, count]) => {
      const kind = namedEvent(id);
      if (count > 1) kind.append(make('b', `× ${numberText(count)}`));
      return kind;
    }),
    kinds.length > maxKinds && make('span.hint', text('eventCount', { count: events.length })),
  );
}

function diffSource(differences: readonly string[]): HTMLElement {
  const marked = differences.map((line) => {
    const kind = line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : '';
    return make('span', { className: kind }, datum(line), '\n');
  });
  return make('pre.source.diff', { tabIndex: 0, role: 'group', ariaLabel: handlerText('wouldDiffer') }, ...marked);
}
