import type { DeliveryPage, ListedDelivery } from '../../../console/api/schemas/deliveries.ts';
import type { ReplayList, ReplayView } from '../../../console/api/schemas/replays.ts';
import { make, makeButton } from '../../shared/dom.ts';
import { withoutSpan } from '../events/query.ts';
import { choice, field, filterForm, ofAccount, openSearch, selection, skipTo, timePresets } from '../fields.ts';
import { handlerChoice, handlersToChoose, handlerText } from '../handler-names.ts';
import { text } from '../language.ts';
import { growingEnd } from '../more.ts';
import { progressText, type ReplayRequest, replayButton } from '../replay-button.ts';
import { ask, withQuery } from '../request.ts';
import { hashFor } from '../route.ts';
import { badge, heading, incompleteLine, replayBadge, type Stage, tell } from '../section.ts';
import { mayChange } from '../session.ts';
import { datum, numberText, timeElement } from '../shown.ts';
import { makeTable, type Table } from '../table.ts';
import { deliveryList } from './delivery-table.ts';

export async function showDeliveries({ main, route: { query }, signal }: Stage): Promise<void> {
  const asked = withoutSpan(query);
  const handlers = await handlersToChoose(signal);
  const offer = () => {
    element.hidden = table.size === 0;
    if (!replayChosen) return;
    replayChosen.hidden = chosen.size === 0;
    replayChosen.lastChild?.replaceWith(handlerText('replayCount', { count: chosen.size }));
  };
  const { column, element, chosen, unchoose } = selection<ListedDelivery>(
    ({ id }) => id,
    ({ time }) => handlerText('selectDelivery', { time }),
    offer,
  );
  const table = deliveryList(mayChange() ? [column] : []);
  table.element.classList.toggle('of-one-outcome', asked.has('outcome'));
  const more = growingEnd(nextPage(asked, table, signal), signal);
  const replayChosen = replayButton(text('replay'), () => ({ deliveries: [...chosen] }), 'primary small');
  offer();
  const replayFailed = replayButton(text('replayFailed'), () => failedRequest(asked));
  const results = make(
    'section.panel',
    // The check box stands at the beginning of its line, above those of the rows, so the title is only for screen readers.
    make(replayChosen ? 'h2.hidden' : 'h2', text('latest')),
    replayChosen && make('div.heading.bulk', element, replayChosen, unchoose),
    table.element,
    more.element,
  );
  main.replaceChildren(
    heading(text('deliveries'), replayFailed),
    ...ofAccount('deliveries', query),
    skipTo(results),
    filter(query, handlers),
    results,
  );
  await Promise.all([more.load().then(offer), tell(showReplays(main, signal))]);
}

/** Returns the request for the failed events that meet the filter of the list. */
function failedRequest(query: URLSearchParams): ReplayRequest {
  const handler = query.get('handler');
  const filter = {
    since: query.getAll('since'),
    until: query.getAll('until'),
    id: query.getAll('event_id'),
    account: query.getAll('account'),
  };
  return { failed: true, filter, ...(handler && { handlers: [handler] }) };
}

function nextPage(query: URLSearchParams, table: Table<ListedDelivery>, signal: AbortSignal) {
  const { account, ...conditions } = Object.fromEntries(query) as Record<string, string>;
  let cursor: string | null = null;
  return async () => {
    // The API has no filter for accounts, so the page leaves out what others have.
    const limit = account === undefined ? undefined : '500';
    const path = withQuery('/api/deliveries', { ...conditions, limit, cursor: cursor ?? undefined });
    let first: HTMLElement | undefined;
    do {
      const found: DeliveryPage = await ask('GET', path, { signal });
      cursor = found.next;
      first = table.append(found.deliveries.filter(({ first_event }) => account === undefined || first_event?.account.name === account));
    } while (cursor !== null && first === undefined);
    return { hasMore: cursor !== null, first };
  };
}

function filter(query: URLSearchParams, handlers: readonly { uuid: string }[]): HTMLElement {
  const outcomes = (['delivered', 'failed', 'discarded'] as const).map((outcome) => [outcome, text(`outcome_${outcome}`)] as const);
  const kinds = [
    ['', text('all')],
    ['deliveries', handlerText('byService')],
    ['replays', handlerText('byHand')],
  ] as const;
  const [last, account] = ['last', 'account'].map((name) => make('input', { name, type: 'hidden' })) as [
    HTMLInputElement,
    HTMLInputElement,
  ];
  const period = make(
    'div.period',
    field(text('since'), make('input', { name: 'since', type: 'datetime-local', step: '1' })),
    field(text('until'), make('input', { name: 'until', type: 'datetime-local', step: '1' })),
  );
  const custom = makeButton(text('customPeriod'), undefined, () => fold(!period.classList.contains('folded')), 'small custom');
  const fold = (isFolded: boolean) => {
    period.classList.toggle('folded', isFolded);
    custom.ariaPressed = String(!isFolded);
  };
  fold(!query.has('since') && !query.has('until'));
  const fields = [
    field(text('handler'), handlerChoice(handlers)),
    field(text('outcome'), choice('outcome', [['', text('all')], ...outcomes])),
    field(text('source'), choice('kind', kinds)),
    field(text('eventId'), make('input', { name: 'event_id', autocomplete: 'off', inputMode: 'numeric' }), 'brief'),
    last,
    account,
    period,
  ];
  const presets = timePresets(query, (next) => openSearch('deliveries', next));
  presets.append(custom);
  const problemOf = (input: HTMLInputElement, form: HTMLFormElement) => {
    if (['since', 'until'].includes(input.name) && input.value !== '') last.value = '';
    if (input.name === 'event_id' && !/^\d{0,6}$/.test(input.value.trim())) return handlerText('wrongEventId');
    const since = form.elements.namedItem('since');
    const isReversed = since instanceof HTMLInputElement && since.value !== '' && input.value !== '' && since.value >= input.value;
    return input.name === 'until' && isReversed ? text('sinceAfterUntil') : undefined;
  };
  return filterForm('deliveries', query, fields, problemOf, presets);
}

/** Lists the replays above the deliveries, because the list of deliveries grows at its end. The replays are folded if all have ended. */
async function showReplays(main: HTMLElement, signal: AbortSignal): Promise<void> {
  const { replays, incomplete } = await ask<ReplayList>('GET', '/api/replays', { signal });
  const missing = incompleteLine();
  missing.show(incomplete);
  const table = makeTable<ReplayView>(
    text('replays'),
    handlerText('noReplays'),
    [
      { title: text('time'), cell: ({ created }) => timeElement(created), className: 'narrow' },
      { title: text('state'), cell: replayBadge, className: 'narrow' },
      {
        title: text('kind'),
        cell: ({ id, dry_run }) =>
          make('a.row-link', { href: hashFor('deliveries', `replays/${id}`) }, text(dry_run ? 'dryRun' : 'replay')),
      },
      { title: text('requests'), cell: progressText, className: 'number' },
      { title: text('outcome_delivered'), cell: ({ delivered }) => numberText(delivered), className: 'number' },
      { title: text('outcome_failed'), cell: ({ failed }) => (failed > 0 ? badge(numberText(failed), 'bad') : '0'), className: 'number' },
      { title: text('administrator'), cell: ({ administrator }) => datum(administrator) },
      ...(new Set(replays.map(({ node }) => node)).size > 1
        ? [{ title: text('node'), cell: ({ node }: ReplayView) => datum(node), className: 'node' }]
        : []),
    ],
    ({ id }) => id,
  );
  table.element.classList.add('of-replays');
  table.show(replays);
  if (replays.length === 0 && incomplete === '') return;
  const open = replays.some(({ state }) => state === 'waiting' || state === 'running');
  const summary = make('summary', `${text('replays')} (${numberText(replays.length)})`);
  main.querySelector('.panel')?.before(make('details.panel', { open }, summary, missing.element, table.element));
}
