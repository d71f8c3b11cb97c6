import type { HandlerView } from '../../console/api/schemas/overview.ts';
import type { ApiReplayRequest, ReplayView } from '../../console/api/schemas/replays.ts';
import { make } from '../shared/dom.ts';
import { confirm } from './confirm.ts';
import { conditionText, readConditions } from './events/query.ts';
import { choice, field } from './fields.ts';
import { findHandlers, handlerChoice, handlerName, handlerText } from './handler-names.ts';
import { text } from './language.ts';
import { ask, errorText } from './request.ts';
import { hashFor } from './route.ts';
import { facts, iconedButton, tell } from './section.ts';
import { mayChange } from './session.ts';
import { clear, datum, listed, timeElement } from './shown.ts';
import { countText } from './values.ts';

/** The body of `POST /api/replays`. Each member of its filter is a list. */
export type ReplayRequest = Omit<ApiReplayRequest, 'filter'> & { filter?: Record<string, string[]> };

/**
 * Returns the request with which this browser tab started a replay, even after the page was reloaded. With this request, the page of a dry
 * run can start the real replay.
 */
export function askedReplay(id: string): ReplayRequest | undefined {
  const asked = sessionStorage.getItem(`replay ${id}`);
  return asked === null ? undefined : (JSON.parse(asked) as ReplayRequest);
}

/** Builds a button that asks how to repeat deliveries and then shows the replay; undefined if the administrator is not an operator. */
export function replayButton(
  label: string,
  requestNow: () => ReplayRequest | Promise<ReplayRequest>,
  className = '',
): HTMLElement | undefined {
  if (!mayChange()) return undefined;
  let isAsking = false;
  // The dialog opens after the handlers are loaded. Another press must not open it twice.
  const press = async () => {
    if (isAsking) return;
    isAsking = true;
    await tell(Promise.resolve(requestNow()).then((request) => askHow(button.textContent ?? label, request)));
    isAsking = false;
  };
  const button = iconedButton(label, 'replay', press, className);
  return button;
}

/** Starts a replay and shows its page. @throws Refused */
export async function startReplay(request: ReplayRequest): Promise<void> {
  const id = await beginReplay(request);
  sessionStorage.setItem(`replay ${id}`, JSON.stringify(request));
  location.hash = hashFor('deliveries', `replays/${id}`);
}

/** Restricts a replay to the events and failures that a count, or a dry run, found. */
export function asCounted(counted: ReplayView | undefined): Pick<ReplayRequest, 'as_of'> {
  return counted ? { as_of: counted.created } : {};
}

async function beginReplay(request: ReplayRequest): Promise<string> {
  return (await ask<{ id: string }>('POST', '/api/replays', { body: request })).id;
}

/** Returns the label of a button that sends. It includes the number of requests, so that nobody sends thousands of them by mistake. */
export function sendText({ requests, handlers }: Pick<ReplayView, 'requests' | 'handlers'>): string {
  return handlerText('sendRequests', { count: requests, handlers: text('toHandlers', { count: handlers }) });
}

/** Says how many requests were sent. The total is unknown until all events are selected. */
export function progressText({ done, total, requests }: ReplayView): string {
  return countText(done, total === null ? null : requests);
}

/** Says how many events a replay sends, because a request can contain several, and an event can go to several handlers. */
function eventsText({ events, handlers }: ReplayView, requests = ''): string {
  return `${text('eventCount', { count: events })}${requests} ${text('toHandlers', { count: handlers })}`;
}

/** Warns of handlers whose requests will probably fail; returns an empty text if there are none. */
export function failingText(handlers: readonly HandlerView[], replay: ReplayView | undefined): string {
  const failing = handlers.filter(
    ({ uuid, reason_code, is_failing }) => replay?.handler_uuids.includes(uuid) && (reason_code === 'failures' || is_failing),
  );
  if (failing.length === 0) return '';
  const names = listed(failing.map(({ uuid }) => handlerName(uuid)));
  return handlerText(failing.every(({ state }) => state === 'stopped') ? 'areStopped' : 'areFailing', { names, count: failing.length });
}

const pauseMs = 400;

/** Stands for the handlers that have not received an event; not a UUID. */
const lackingKey = '?';

/** Counts the requests that a replay would send. The page of deliveries does not list such a count. @param onNews called after each change */
function countRequests(request: ReplayRequest, onNews: () => void) {
  let id: string | undefined;
  let isOver = false;
  const count = {
    replay: undefined as ReplayView | undefined,
    problem: '',
    isEnded: false,
    end: () => {
      count.isEnded = true;
      if (id !== undefined && !isOver) ask('DELETE', `/api/replays/${id}`).catch(() => {});
    },
  };
  const run = async () => {
    id = await beginReplay({ ...request, count_only: true });
    for (onNews(); !count.isEnded && !count.replay; await new Promise((resolve) => setTimeout(resolve, pauseMs))) {
      const replay = await ask<ReplayView>('GET', `/api/replays/${id}`);
      isOver = replay.state !== 'waiting' && replay.state !== 'running';
      if (replay.total !== null || isOver) count.replay = replay;
      if (!count.isEnded) onNews();
    }
    if (count.isEnded) count.end();
  };
  run().catch((error: unknown) => {
    count.problem = clear(errorText(error));
    if (!count.isEnded) onNews();
  });
  return count;
}

/** Lists the conditions of the search that a replay is limited to, so that nobody sends more events than the search found. */
function limits({ handlers, filter = {} }: ReplayRequest): HTMLElement | undefined {
  const search = new URLSearchParams(Object.entries(filter).flatMap(([name, values]) => values.map((value) => [name, value])));
  // Excluded kinds of events are not listed, because a search can exclude dozens of kinds.
  const conditions = readConditions(search).filter(({ key }) => key !== '-event');
  const time = (name: string) => (search.has(name) ? timeElement(search.get(name)) : undefined);
  const shown = facts(
    [text('handler'), handlers && datum(handlers.map(handlerName).join(', '))],
    [text('since'), time('since')],
    [text('until'), time('until')],
    [text('events'), conditions.length > 0 ? datum(conditions.map(conditionText).join(' ')) : undefined],
  );
  return shown.childElementCount > 0 ? shown : undefined;
}

async function askHow(title: string, request: ReplayRequest): Promise<void> {
  const { handlers } = await findHandlers(AbortSignal.timeout(15_000));
  const choosesHandler = request.deliveries === undefined && request.handlers === undefined && handlers.length > 0;
  const handler = handlerChoice(handlers);
  // One event goes first to the handlers that lack it, so that the others do not receive it twice.
  const lacking = request.events?.length === 1 ? make('option', { value: lackingKey }, handlerText('handlersWithout')) : undefined;
  if (lacking) handler.prepend(lacking);
  handler.selectedIndex = 0;
  const dryRun = make('input', { type: 'checkbox', checked: true });
  const stop = choice('stop', [
    ['20', handlerText('stopAfter', { count: 20 })],
    ['100', handlerText('stopAfter', { count: 100 })],
    ['0', handlerText('stopNever')],
  ]);
  const stopField = field(handlerText('stopWhen'), stop);
  const tick = make('label.tick', dryRun, make('span', handlerText('dryRunFirst')));
  const neverSent = make('input', { type: 'checkbox' });
  const neverSentText = make('span');
  const neverSentTick = make('label.tick', { hidden: true }, neverSent, neverSentText);
  const status = make('div', { role: 'status' });
  const content = [
    make('p', handlerText('replayHint')),
    limits(request),
    choosesHandler && field(text('handler'), handler),
    stopField,
    request.failed && neverSentTick,
    tick,
    status,
  ];
  const wanted = (never_sent = neverSent.checked): ReplayRequest => {
    const one = handler.value === lackingKey ? { failed: true } : { handlers: [handler.value] };
    const chosen = choosesHandler && handler.value !== '' ? one : {};
    return { ...request, ...chosen, ...(request.failed && { never_sent }), stop_after_failures: Number(stop.value) };
  };
  const countAll = () => {
    const failed = countRequests(wanted(false), () => show());
    return { failed, all: request.failed ? countRequests(wanted(true), () => show()) : failed };
  };
  const end = () => {
    counts.failed.end();
    counts.all.end();
  };
  const count = () => (neverSent.checked ? counts.all : counts.failed);
  const show = () => {
    const { replay, problem } = count();
    const failed = counts.failed.replay?.total;
    const all = counts.all.replay?.total;
    const hasNeverSent = typeof failed === 'number' && typeof all === 'number' && all > failed;
    neverSentTick.hidden = !hasNeverSent && !neverSent.checked;
    neverSentText.textContent = counts.all.replay ? handlerText('neverSentToo', { events: eventsText(counts.all.replay) }) : '';
    // One failure cannot be followed by others.
    stopField.hidden = (replay?.requests ?? request.deliveries?.length ?? 2) < 2;
    const isEmpty = replay?.requests === 0;
    if (isEmpty && handler.value === lackingKey) {
      lacking?.remove();
      recount();
      return;
    }
    const told = replay && eventsText(replay, `, ${handlerText('requestCount', { count: replay.requests })}`);
    const warning = failingText(handlers, replay);
    status.replaceChildren(
      make('p', problem || (isEmpty ? text('noResults') : (told ?? handlerText('countingRequests')))),
      warning === '' ? '' : make('p.reason', warning),
    );
    const button = tick.closest('dialog')?.querySelector<HTMLButtonElement>('button[value="ok"]');
    if (!button) return;
    button.disabled = isEmpty || problem !== '' || (!replay && !dryRun.checked);
    if (dryRun.checked) button.textContent = replay ? handlerText('compareRequests', { count: replay.requests }) : handlerText('compare');
    else button.textContent = replay ? sendText(replay) : handlerText('countingRequests');
  };
  let counts = countAll();
  const recount = () => {
    end();
    counts = countAll();
    show();
  };
  handler.addEventListener('change', recount);
  neverSent.addEventListener('change', show);
  dryRun.addEventListener('change', show);
  // Failures that arrive after the count are left out, so that the button does not send more than it says.
  const act = () => startReplay({ ...wanted(), ...asCounted(count().replay), dry_run: dryRun.checked });
  const answer = confirm(title, content, { label: handlerText('compare'), kind: 'primary' }, act);
  show();
  await answer;
  end();
}
