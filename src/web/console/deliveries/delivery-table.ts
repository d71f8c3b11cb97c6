import type { DeliveryView, ListedDelivery } from '../../../console/api/schemas/deliveries.ts';
import { make } from '../../shared/dom.ts';
import { drawn, fits, lastNumber, measureAs, middleCut } from '../../shared/long-names.ts';
import { namedEvent } from '../event-kinds.ts';
import { accountLink } from '../events/event-table.ts';
import { faultText, handlerName } from '../handler-names.ts';
import { colon, text, translate } from '../language.ts';
import { hashFor } from '../route.ts';
import { outcomeBadge } from '../section.ts';
import { clear, datum, numberText, timeElement } from '../shown.ts';
import { type Column, makeTable, type Table } from '../table.ts';

/** Columns about the events of each delivery. */
const eventColumns: Column<ListedDelivery>[] = [
  { title: text('events'), cell: eventIds, className: 'kind second-line narrow' },
  { title: text('file'), cell: fileName, className: 'second-line file' },
  { title: text('account'), cell: ({ first_event }) => eventAccount(first_event), className: 'third-line event-account' },
];

/** Builds the list of all deliveries. @param before additional columns at the beginning */
export function deliveryList(before: readonly Column<ListedDelivery>[]): Table<ListedDelivery> {
  const table = deliveryTable(text('deliveries'), before, eventColumns);
  table.element.classList.add('of-files');
  return table;
}

/** Builds a table of deliveries, each with a link to its page. @param about columns that describe the events of a delivery */
export function deliveryTable<T extends DeliveryView>(
  caption: string,
  before: readonly Column<T>[] = [],
  about: readonly Column<T>[] = [],
): Table<T> {
  const table = makeTable<T>(
    caption,
    text('noDeliveries'),
    [
      ...before,
      { title: text('time'), cell: ({ time }) => timeElement(time), className: 'narrow last' },
      { title: text('outcome'), cell: ({ outcome }) => outcomeBadge(outcome), className: 'narrow outcome' },
      ...about,
      {
        title: text('handler'),
        cell: ({ id, handler }) =>
          make('a.row-link.two-lines', { href: hashFor('deliveries', id), title: handlerName(handler) }, datum(handlerName(handler))),
        className: 'third-line handler',
      },
      { title: text('reply'), cell: lastReply, className: 'third-line reply' },
      { title: text('attempts'), cell: ({ attempts }) => numberText(attempts.length), className: 'number wide-only spacious' },
      { title: text('source'), cell: ({ source }) => translate('source', source), className: 'wide-only spacious' },
    ],
    ({ id }) => id,
  );
  table.element.classList.add('listed', 'of-deliveries');
  return table;
}

/** Widths of the cells with names of files, for which the names were last shortened. */
const fittedPx = new WeakMap<Element, number>();

/** Shortens the names whose cells got another width. In the next frame, because a change within the notification would be an error. */
const onWidth = new ResizeObserver((entries) =>
  requestAnimationFrame(() => {
    for (const { target, contentRect } of entries)
      if (fittedPx.get(target) !== contentRect.width) fit(target as HTMLElement, contentRect.width);
  }),
);

/** Keeps the last number of a name in sight, and omits the folder if the name needs the lines. */
function fit(place: HTMLElement, columnPx: number): void {
  const [name, folder] = place.children as unknown as [HTMLElement, HTMLElement | undefined];
  fittedPx.set(place, columnPx);
  measureAs(place);
  const lines = Number(getComputedStyle(place).webkitLineClamp);
  const whole = name.textContent ?? '';
  const parts = fits(whole, columnPx, lines) ? undefined : shortened(whole, columnPx, lines);
  name.replaceChildren(...drawn(parts ?? [whole]));
  if (!folder) return;
  // The browser's ellipsis for the folder needs room, too, or else it takes a letter of the name.
  const isAlone = fits(lines === 1 ? `${whole} /…` : whole, columnPx, 1);
  folder.hidden = parts !== undefined || !(isAlone || fits(`${whole} ${folder.textContent}`, columnPx, lines));
}

/** Shortens a name so that its last number stays in sight. If possible, only one part is omitted: before or after the number. */
function shortened(whole: string, width: number, lines: number): string[] | undefined {
  const number = lastNumber(whole);
  const usual = middleCut(whole, width, undefined, lines);
  if (!number || !usual || (usual[0]?.length ?? 0) >= number[1]) return usual;
  const [, numberEnd] = number;
  const start = whole.length - (/\.[^.]{1,9}$/.exec(whole)?.[0].length ?? 0);
  // Six letters of the other end stay, as in other shortened names; fewer, if the name then needs only one gap.
  for (let kept = 6; kept >= 0; kept -= 1) {
    for (const [from, to] of [
      [numberEnd, Math.max(numberEnd, start - kept)],
      [kept, number[0]],
    ] as const) {
      const [before, after] = [whole.slice(0, from), whole.slice(to)];
      if (from > 0 && from < to && fits(`${before}…${after}`, width, lines)) return [before, whole.slice(from, to), after];
    }
  }
  const usualBoth = middleCut(whole, width, number, lines) ?? [whole];
  // In a narrow column, only letters of the beginning, the number and the extension stay.
  const least = Array.from({ length: Math.min(6, number[0]) + 1 }, (_, omitted) => {
    const kept = Math.min(6, number[0]) - omitted;
    return [[0, kept], [kept, number[0]], number, [numberEnd, start], [start]].map(([from, to]) => whole.slice(from, to));
  });
  const isShort = (parts: string[]) => fits(parts.map((part, at) => (at % 2 === 1 && part !== '' ? '…' : part)).join(''), width, lines);
  return [usualBoth, ...least].find(isShort) ?? usualBoth;
}

/** Shows the name of the file, and then its folder, because the end of a long text is cut off. */
function fileName({ first_event, events }: ListedDelivery): HTMLElement {
  const path = first_event?.data.path;
  if (typeof path !== 'string') return make('span.wide-only', '–');
  const [, folder = '', name = path] = /^(.*\/)([^/]+\/?)$/.exec(path) ?? [];
  const beside = events.length > 1 ? text('moreFiles', { count: events.length - 1 }) : clear(folder);
  const shown = make('span.two-lines', { title: clear(path) }, datum(name), ' ', beside !== '/' && make('span.hint', make('bdi', beside)));
  onWidth.observe(shown);
  return shown;
}

function eventAccount(event: ListedDelivery['first_event']): HTMLElement {
  return event ? Object.assign(accountLink(event, new URLSearchParams()), { tabIndex: -1 }) : datum('');
}

/** Shows the first event, and how many further events the request contained. The title of that number lists the IDs of all events. */
function eventIds({ events, first_event }: ListedDelivery): HTMLElement {
  const [first, ...others] = events;
  if (!first) return datum('');
  const title = `${text('eventCount', { count: events.length })}${colon}${[...new Set(events.map(({ id }) => id))].join(', ')}`;
  const shown = namedEvent(first.id, first_event?.data);
  if (others.length > 0) shown.firstElementChild?.after(make('span.hint', { title }, `+${numberText(others.length)}`));
  return shown;
}

function lastReply({ attempts, details, fault }: DeliveryView): HTMLElement {
  const last = attempts.at(-1);
  if (last?.status !== undefined) {
    const reason = last.reason ?? '';
    return make('span', { title: clear(`${last.status} ${reason}`) }, String(last.status), ' ', datum(reason, 'phrase'));
  }
  const reason = faultText(last ? last.fault : fault, last?.error ?? details);
  return make('span.two-lines', { title: clear(reason) }, datum(reason));
}
