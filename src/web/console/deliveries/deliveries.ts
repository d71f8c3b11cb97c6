import type { DeliveryPage, DeliveryView } from '../../../console/api/schemas/deliveries.ts';
import { make, makeButton } from '../../shared/dom.ts';
import { choice, field, fill, filled } from '../fields.ts';
import { findHandlers, handlerName } from '../handler-names.ts';
import { text } from '../language.ts';
import { More } from '../more.ts';
import { replayButton } from '../replay-button.ts';
import { ask, withQuery } from '../request.ts';
import { hashOf } from '../route.ts';
import { heading, panel, type Stage, tell } from '../section.ts';
import { mayChange } from '../session.ts';
import type { Table } from '../table.ts';
import { deliveryTable } from './delivery-table.ts';
import { showReplays } from './replays.ts';

/** Shows what was sent to handlers, the newest first. */
export async function showDeliveries({ main, route: { query }, signal }: Stage): Promise<void> {
  const { handlers } = await findHandlers(signal);
  const chosen = new Set<string>();
  const select = (item: DeliveryView) => selection(item, chosen, () => offer());
  const table = deliveryTable(text('deliveries'), mayChange() ? [{ title: text('select'), cell: select, className: 'narrow' }] : []);
  const more = new More({ next: nextPage(query, table, signal), signal });
  const replayChosen = replayButton(text('replay'), () => ({ deliveries: [...chosen] }), 'primary');
  const offer = () => {
    if (!replayChosen) return;
    replayChosen.hidden = chosen.size === 0;
    replayChosen.lastChild?.replaceWith(text('replayCount', { count: chosen.size }));
  };
  offer();
  const handler = query.get('handler');
  const replayFailed = replayButton(text('replayFailed'), () => ({ failed: true, ...(handler && { handlers: [handler] }) }));
  const replays = panel(text('replays'));
  main.append(
    heading(text('deliveries'), replayFailed),
    filter(
      query,
      handlers.map(({ uuid }) => uuid),
    ),
    panel(text('latest'), replayChosen && make('div.row', replayChosen), table.element, more.element),
    replays,
  );
  await more.load();
  await tell(showReplays(replays, signal));
}

function nextPage(query: URLSearchParams, table: Table<DeliveryView>, signal: AbortSignal) {
  let cursor: string | null = null;
  return async () => {
    const path = withQuery('/api/deliveries', { ...Object.fromEntries(query), cursor: cursor ?? undefined });
    let first: HTMLElement | undefined;
    do {
      const found: DeliveryPage = await ask('GET', path, { signal });
      cursor = found.next;
      first = table.append(found.deliveries);
    } while (cursor !== null && first === undefined);
    return { hasMore: cursor !== null, first };
  };
}

function selection({ id, time }: DeliveryView, chosen: Set<string>, onChange: () => void): HTMLElement {
  const box = make('input', { type: 'checkbox', ariaLabel: text('selectDelivery', { time }) });
  box.addEventListener('change', () => {
    if (box.checked) chosen.add(id);
    else chosen.delete(id);
    onChange();
  });
  return box;
}

function filter(query: URLSearchParams, handlers: readonly string[]): HTMLElement {
  const outcomes = ['delivered', 'failed', 'discarded'] as const;
  const form = make(
    'form.filter',
    field(text('handler'), choice('handler', [['', text('allHandlers')], ...handlers.map((uuid) => [uuid, handlerName(uuid)] as const)])),
    field(
      text('outcome'),
      choice('outcome', [['', text('all')], ...outcomes.map((outcome) => [outcome, text(`outcome_${outcome}`)] as const)]),
    ),
    field(
      text('kind'),
      choice('kind', [
        ['', text('byService')],
        ['replays', text('byHand')],
      ]),
    ),
    field(text('since'), make('input', { name: 'since', type: 'datetime-local', step: '1' })),
    field(text('until'), make('input', { name: 'until', type: 'datetime-local', step: '1' })),
    field(text('eventId'), make('input', { name: 'event_id', autocomplete: 'off', inputMode: 'numeric' })),
    make(
      'div.row.buttons',
      make('button.primary', text('search')),
      makeButton(text('clearFilter'), undefined, () => go(new URLSearchParams()), 'quiet'),
    ),
  );
  fill(form, query);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    go(filled(form));
  });
  return form;
}

function go(query: URLSearchParams): void {
  const hash = hashOf('deliveries', '', query);
  if (location.hash === hash) dispatchEvent(new HashChangeEvent('hashchange'));
  else location.hash = hash;
}
