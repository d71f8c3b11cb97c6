import type { TestedHandler } from '../../../console/api/schemas/deliveries.ts';
import type { HandlerList, HandlerView, Overview } from '../../../console/api/schemas/overview.ts';
import { type Child, make } from '../../shared/dom.ts';
import { notice } from '../../shared/notices.ts';
import { faultText, findHandlers, handlerText } from '../handler-names.ts';
import { colon, text } from '../language.ts';
import { listen } from '../live.ts';
import { ask } from '../request.ts';
import { hashFor } from '../route.ts';
import { actionButton, badge, facts, heading, incompleteLine, type Stage, scrollToShown } from '../section.ts';
import { mayChange } from '../session.ts';
import { ageInPhrase, clear, datum, timeInPhrase } from '../shown.ts';
import { renew } from '../table.ts';
import { ageText, byUrgency, handlerBadge, hourBars, rateText, waitingText } from './last-hour.ts';

/** Shows the event handlers with their states and actions. */
export async function showHandlers({ main, route, signal }: Stage): Promise<void> {
  const list = make('div.cards');
  const empty = make('p.nothing', { hidden: true }, text('noHandlers'));
  const missing = incompleteLine();
  const show = ({ handlers, incomplete }: HandlerList) => {
    missing.show(incomplete);
    empty.hidden = handlers.length > 0;
    renew(
      list,
      byUrgency(handlers).map((handler) => card(handler, refresh)),
    );
  };
  const refresh = async () => show(await findHandlers(signal));
  await refresh();
  main.replaceChildren(heading(text('handlers')), missing.element, list, empty);
  scrollToShown(main, route);
  listen('/api/live', signal, {
    messages: { overview: (overview: Overview) => show(overview) },
  });
}

function card(handler: HandlerView, refresh: () => Promise<void>): HTMLElement {
  const { uuid, name, state, oldest_waiting_seconds, rate_per_minute, node } = handler;
  return make(
    'section.panel.handler',
    { tabIndex: -1, attributes: { 'data-key': uuid, 'data-shown-as': uuid } },
    make('div.heading', make('h2', datum(name)), handlerBadge(handler)),
    handler.reason !== '' && make(state === 'stopped' ? 'p.reason' : 'p.hint', datum(reasonText(handler))),
    lastError(handler),
    urlList(handler, refresh),
    facts(
      [text('lastHour'), hourBars(handler) ?? '–'],
      [text('rate'), rateText(rate_per_minute)],
      [text('waitingEvents'), waitingText(handler)],
      [text('oldest'), ageText(oldest_waiting_seconds)],
    ),
    make('p.hint.ids', make('span', 'UUID ', datum(uuid, 'code')), node !== '' && make('span', `${text('node')} `, datum(node))),
    make(
      'div.row',
      ...(mayChange() ? actions(handler, refresh) : []),
      make('a.button.quiet', { href: hashFor('deliveries', '', { handler: uuid }) }, text('deliveries')),
    ),
  );
}

/** Returns the reason why a handler does not run, in the language of the page if it has a code. */
function reasonText({ reason, reason_code, reason_value }: HandlerView): string {
  if (reason_code === '') return reason;
  return handlerText(`reason_${reason_code === 'no-node' ? 'no_node' : reason_code}`, { name: reason_value, count: Number(reason_value) });
}

function lastError({ last_error, last_fault, last_error_time, is_failing, state }: HandlerView): HTMLElement | undefined {
  if (last_error_time === null) return undefined;
  const kind = state === 'stopped' || is_failing ? 'p.reason' : 'p.hint';
  return make(kind, `${handlerText('lastError')} `, ageInPhrase(last_error_time), colon, datum(faultText(last_fault, last_error)));
}

function actions(handler: HandlerView, refresh: () => Promise<void>): HTMLElement[] {
  const { state } = handler;
  const button = (action: 'start' | 'pause' | 'resume' | 'test', iconName: 'resume' | 'pause' | 'move', className = '') =>
    actionButton(handlerText(action), iconName, () => act(handler, action, refresh), className);
  return [
    ...(state === 'stopped' ? [button('start', 'resume', 'primary')] : []),
    ...(state === 'paused' ? [button('resume', 'resume', 'primary')] : []),
    ...(state === 'running' || state === 'stopped' ? [button('pause', 'pause')] : []),
    ...(state === 'disabled' ? [] : [button('test', 'move')]),
  ];
}

async function act(
  { uuid, name }: HandlerView,
  action: 'start' | 'pause' | 'resume' | 'test',
  refresh: () => Promise<void>,
): Promise<void> {
  const path = `/api/handlers/${encodeURIComponent(uuid)}/${action}`;
  const values = { name: clear(name) };
  if (action === 'test') {
    const { outcome, details, fault } = await ask<TestedHandler>('POST', path, { body: {} });
    if (outcome === 'delivered') notice(handlerText('test_done', values));
    else notice(handlerText('testFailed', { ...values, reason: clear(faultText(fault, details)) }), 'error');
  } else {
    await ask('POST', path, { body: {} });
    const again = action === 'start' ? await stoppedAgain(uuid) : undefined;
    if (again === undefined) notice(handlerText(`${action}_done`, values));
    else notice(handlerText('stoppedAgain', { ...values, reason: clear(again) }), 'error');
  }
  await refresh();
}

/**
 * Interval, in milliseconds, and maximum number of checks after a handler was started. The page waits for these checks, so that it can
 * report the start and a failure in one message.
 */
const lookEveryMs = 250;
const maxLooks = 12;

/**
 * Waits up to three seconds until a started handler has delivered all waiting events.
 *
 * @returns the reason if the handler stopped again; otherwise undefined
 */
async function stoppedAgain(uuid: string): Promise<string | undefined> {
  let hasStarted = false;
  for (let look = 1; look <= maxLooks; look++) {
    const handler = (await findHandlers()).handlers.find((candidate) => candidate.uuid === uuid);
    if (!handler) return undefined;
    // Nodes report every two seconds, so at first the report can be older than the start.
    if (handler.state !== 'stopped') hasStarted = true;
    else if (hasStarted || look === maxLooks) return faultText(handler.last_fault, handler.last_error) || reasonText(handler);
    if (hasStarted && handler.waiting_events === 0 && !handler.more_may_wait) return undefined;
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  }
  return undefined;
}

/** Lists the URLs of a handler. A suspended one has the end of its suspension, and a button that lifts it. */
function urlList({ uuid, urls, suspended_urls }: HandlerView, refresh: () => Promise<void>): HTMLElement {
  const all = new Set([...urls, ...suspended_urls.map(({ url }) => url)]);
  const items = [...all].map((url) => {
    const suspended = suspended_urls.find((one) => one.url === url);
    return make('li', datum(url, 'code'), ...(suspended ? suspension(uuid, suspended, refresh) : []));
  });
  return make('ul.urls', ...items);
}

function suspension(uuid: string, { url, until }: HandlerView['suspended_urls'][number], refresh: () => Promise<void>): Child[] {
  const lift = actionButton(
    handlerText('liftSuspension'),
    undefined,
    async () => {
      await ask('POST', `/api/handlers/${encodeURIComponent(uuid)}/lift-suspension`, { body: { url } });
      notice(handlerText('suspensionLifted', { url: clear(url) }));
      await refresh();
    },
    'quiet',
  );
  return [
    badge(handlerText('suspended'), 'warn'),
    make('span.hint', `${handlerText('suspendedUntil')} `, timeInPhrase(until)),
    mayChange() && lift,
  ];
}
