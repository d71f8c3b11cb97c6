import type { ApiReplayRequest } from '../../console/api/schemas/replays.ts';
import { make, makeButton } from '../shared/dom.ts';
import { confirm } from './confirm.ts';
import { choice, field } from './fields.ts';
import { findHandlers, handlerChoice } from './handler-names.ts';
import { text } from './language.ts';
import { ask } from './request.ts';
import { hashFor } from './route.ts';
import { tell } from './section.ts';
import { mayChange } from './session.ts';

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
export function replayButton(label: string, requestNow: () => ReplayRequest, className = ''): HTMLElement | undefined {
  if (!mayChange()) return undefined;
  return makeButton(label, 'recent', () => void tell(askHow(label, requestNow())), className);
}

/** Starts a replay and shows its page. @throws Refused */
export async function startReplay(request: ReplayRequest): Promise<void> {
  const { id } = await ask<{ id: string }>('POST', '/api/replays', { body: request });
  sessionStorage.setItem(`replay ${id}`, JSON.stringify(request));
  location.hash = hashFor('deliveries', `replays/${id}`);
}

async function askHow(title: string, request: ReplayRequest): Promise<void> {
  const { handlers } = await findHandlers(AbortSignal.timeout(15_000));
  const choosesHandler = request.deliveries === undefined && request.handlers === undefined && handlers.length > 0;
  const handler = handlerChoice(handlers);
  const dryRun = make('input', { type: 'checkbox', checked: true });
  const stop = choice('stop', [
    ['20', text('stopAfter', { count: 20 })],
    ['100', text('stopAfter', { count: 100 })],
    ['0', text('stopNever')],
  ]);
  const tick = make('label.tick', dryRun, make('span', text('dryRunFirst')));
  const content = [make('p', text('replayHint')), choosesHandler && field(text('handler'), handler), field(text('stopWhen'), stop), tick];
  await confirm(title, content, { label: text('start'), kind: 'primary' }, async () => {
    const chosen = choosesHandler && handler.value !== '' ? { handlers: [handler.value] } : {};
    await startReplay({ ...request, ...chosen, dry_run: dryRun.checked, stop_after_failures: Number(stop.value) });
  });
}
