import type { ReplayView } from '../../../console/api/schemas/replays.ts';
import type { ReplayResult } from '../../../webhooks/records/delivery-record-schema.ts';
import { make } from '../../shared/dom.ts';
import { findHandlers, handlerName } from '../handler-names.ts';
import { text, translate } from '../language.ts';
import { askedReplays, startReplay } from '../replay-button.ts';
import { ask, lines } from '../request.ts';
import { actionButton, badge, facts, heading, panel, type Stage, stateBadge, wayTo } from '../section.ts';
import { mayChange } from '../session.ts';
import { bodySource, countText, datum, numberText } from '../shown.ts';
import { renew } from '../table.ts';

/** Interval of polling a running replay, in milliseconds. */
const pauseMs = 700;

/** Results that the page shows; the rest is in the API's reply. */
const maxResults = 500;

const maxIds = 5;

/** Shows the progress of a replay, and the result of each request. */
export async function showReplay({ main, route, signal }: Stage): Promise<void> {
  const id = route.id.replace(/^replays\//, '');
  const path = `/api/replays/${encodeURIComponent(id)}`;
  const [first] = await Promise.all([ask<ReplayView>('GET', path, { signal }), findHandlers(signal)]);
  const request = askedReplays.get(id);
  const isDryRun = first.dry_run;
  const cancel = actionButton(text('cancelReplay'), 'close', () => ask('DELETE', path));
  const sendNow = actionButton(text('sendNow'), 'recent', () => startReplay({ ...request, dry_run: false }), 'primary');
  const status = make('div', { role: 'status' });
  const results = make('div.results');
  main.append(
    wayTo('deliveries'),
    heading(text(isDryRun ? 'dryRun' : 'replay'), mayChange() && cancel, mayChange() && isDryRun && request !== undefined && sendNow),
    panel(text('progress'), status),
    panel(text(isDryRun ? 'whatWouldBeSent' : 'results'), results),
  );
  const show = (replay: ReplayView) => {
    cancel.hidden = isOver(replay);
    sendNow.hidden = !isOver(replay);
    renew(status, [progressView(replay, isDryRun)]);
  };
  let replay = first;
  for (show(replay); !isOver(replay); show(replay)) {
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    replay = await ask<ReplayView>('GET', path, { signal });
  }
  await showResults(results, `${path}/results`, replay, signal);
}

function isOver({ state }: ReplayView): boolean {
  return state !== 'waiting' && state !== 'running';
}

function progressView(replay: ReplayView, isDryRun: boolean): HTMLElement {
  const { state, done, total, delivered, failed, details } = replay;
  const bar = make('progress', { max: Math.max(total ?? 0, 1), ariaLabel: text('progress') });
  if (isOver(replay)) bar.value = bar.max;
  else if (total !== null) bar.value = done;
  return make(
    'div',
    bar,
    facts(
      [text('state'), stateBadge(state)],
      [text('progress'), countText(done, total)],
      [text('outcome_delivered'), isDryRun ? undefined : numberText(delivered)],
      [text('outcome_failed'), isDryRun ? undefined : failed > 0 ? badge(numberText(failed), 'bad') : '0'],
      [text('reason'), details === '' ? undefined : datum(details)],
    ),
  );
}

async function showResults(place: HTMLElement, path: string, { results_left_out }: ReplayView, signal: AbortSignal): Promise<void> {
  let count = 0;
  for await (const result of lines<ReplayResult>(path, signal)) {
    if (++count > maxResults) break;
    place.append(resultItem(result));
  }
  if (count === 0) place.append(make('p.nothing', text('noResults')));
  else if (count > maxResults || results_left_out > 0) place.append(make('p.hint', text('moreResults', { path })));
}

function resultItem(result: ReplayResult): HTMLElement {
  if ('skipped' in result) return article([badge(translate('outcome', 'skipped'), 'bad')], hint([result.skipped, result.reason]));
  const about = [' ', datum(handlerName(result.handler)), ' ', idBadges(result.events)];
  if ('outcome' in result) {
    const { outcome, status, details } = result;
    return article([badge(translate('outcome', outcome), outcome === 'delivered' ? 'good' : 'bad'), ...about], hint([status, details]));
  }
  const { request, differences } = result;
  return article(
    [comparison(differences), ...about],
    make('p', badge(request.method), ' ', datum(request.url, 'code')),
    differences && differences.length > 0 ? diffSource(differences) : undefined,
    make('details', make('summary', text('request')), bodySource(request.body, text('request'))),
  );
}

function article(head: (HTMLElement | string)[], ...content: (HTMLElement | undefined)[]): HTMLElement {
  return make('article.result', make('p', ...head), ...content);
}

function hint(words: readonly (string | number | undefined)[]): HTMLElement {
  return make('p.hint', datum(words.filter((part) => part !== undefined).join(' ')));
}

function comparison(differences: string[] | null): HTMLElement {
  if (!differences) return badge(text('notSentBefore'));
  return differences.length === 0 ? badge(text('sameAsThen'), 'good') : badge(text('wouldDiffer'), 'warn');
}

function idBadges(events: readonly { id: string }[]): HTMLElement {
  const rest = events.length - maxIds;
  return make(
    'span.badges',
    ...events.slice(0, maxIds).map(({ id }) => badge(id)),
    rest > 0 && make('span.hint', text('eventCount', { count: events.length })),
  );
}

/** Lines of a difference: removed and added ones have different colours. */
function diffSource(differences: readonly string[]): HTMLElement {
  const marked = differences.map((line) => {
    const kind = line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : '';
    return make('span', { className: kind }, datum(line), '\n');
  });
  return make('pre.source.diff', { tabIndex: 0, role: 'group', ariaLabel: text('wouldDiffer') }, ...marked);
}
