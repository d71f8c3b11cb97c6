import type { OccurrenceRun, ToldExpectation, ToldOccurrence } from '../../../expectations/told-occurrence.ts';
import { exactTime } from '../../shared/dates.ts';
import { cancelButton, progressBar, ask as putQuestion } from '../../shared/dialogs.ts';
import { type Child, make, makeButton } from '../../shared/dom.ts';
import { partTexts, sizeText } from '../../shared/locale.ts';
import { notice } from '../../shared/notices.ts';
import de from '../../texts/due/de.json' with { type: 'json' };
import en from '../../texts/due/en.json' with { type: 'json' };
import es from '../../texts/due/es.json' with { type: 'json' };
import fr from '../../texts/due/fr.json' with { type: 'json' };
import { confirm } from '../confirm.ts';
import { field, localTime } from '../fields.ts';
import { text } from '../language.ts';
import { ask, errorText, Refused, withQuery } from '../request.ts';
import { hashFor } from '../route.ts';
import { badge, iconedButton, tell } from '../section.ts';
import { clear, datum, dueElement, timeElement } from '../shown.ts';
import type { Column } from '../table.ts';

/** Returns a text about due files, in the language of the page. */
export const dueText = partTexts<keyof typeof en>({ en, de, es, fr });

type State = ToldOccurrence['state'];

export const stateKinds: Readonly<Record<State, 'good' | 'bad' | 'warn' | 'calm'>> = {
  met: 'good',
  late: 'warn',
  missing: 'bad',
  malformed: 'bad',
  excused: 'calm',
  waiting: 'calm',
};

/** States from worst to best. The state of a day is the worst state of its occurrences. */
export const worstFirst: readonly State[] = ['missing', 'malformed', 'late', 'waiting', 'excused', 'met'];

/** Whether the files of an occurrence did not come as expected, and the expectation was already active when they were due. */
export function isMiss({ state, watched }: Pick<ToldOccurrence, 'state' | 'watched'>): boolean {
  return stateKinds[state] === 'bad' && watched !== false;
}

/** Shows the state of an occurrence. */
export function showState({ state, watched }: ToldOccurrence): HTMLElement {
  return watched === false ? badge(dueText('dueNotWatched')) : badge(dueText(`due_${state}`), stateKinds[state]);
}

/** Returns a text that names the account or group whose files are expected. */
export function describeSender({ account, group }: ToldExpectation): string {
  if (account !== null) return clear(account);
  return group === null ? dueText('dueAnybody') : dueText('dueOfGroup', { group: clear(group) });
}

/** Due times of one expectation in their order, summed up by state and day. */
export type Runs = readonly [OccurrenceRun, ...OccurrenceRun[]];

/** The time zone of the reader. The service sums up the due times of each of its days. */
export const readerZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

export function countOf(runs: readonly OccurrenceRun[]): number {
  return runs.reduce((sum, { count }) => sum + count, 0);
}

/** Returns each occurrence of some runs of one expectation, which must be in the order of their times. */
export async function askSingly(runs: readonly OccurrenceRun[]): Promise<ToldOccurrence[]> {
  const known = runs.flatMap(({ occurrence }) => occurrence ?? []);
  const [first, last] = [runs[0], runs.at(-1)];
  if (!first || !last || known.length === runs.length) return known;
  const found: ToldOccurrence[] = [];
  // A reply has only the newest occurrences of a period. The others are asked for by further requests.
  for (let until = last.last; ; ) {
    const query = { expectation: first.expectation, since: first.first, until };
    const reply = await ask<{ occurrences: ToldOccurrence[]; total: number }>('GET', withQuery('/api/occurrences', query));
    found.unshift(...reply.occurrences);
    const [earliest] = reply.occurrences;
    if (!earliest || reply.occurrences.length === reply.total) return runs.every(isMiss) ? found.filter(isMiss) : found;
    until = new Date(Date.parse(earliest.due) - 1).toISOString();
  }
}

const dayMs = 86_400_000;

/** Missing files of this many days before today, which begins in UTC here, are shown, too. The overview counts the same files. */
const openDays = 7;

/** Requests all expectations, and the due times from some days ago until the end of today. */
export async function askRecent(signal: AbortSignal) {
  const midnight = new Date();
  midnight.setHours(0, 0, 0, 0);
  const todayMs = midnight.getTime();
  const since = new Date(Math.floor(Date.now() / dayMs - openDays) * dayMs).toISOString();
  const until = new Date(midnight.setDate(midnight.getDate() + 1) - 1).toISOString();
  const query = { since, until, by_day_in: readerZone };
  const [{ expectations }, { runs, total }] = await Promise.all([
    ask<{ expectations: ToldExpectation[] }>('GET', '/api/expectations', { signal }),
    ask<{ runs: OccurrenceRun[]; total: number }>('GET', withQuery('/api/occurrences', query), { signal }),
  ]);
  return { expectations, runs, total, todayMs };
}

/** Returns the day of a due time in the reader's time zone, such as `2026-03-29`. */
export const dueDay = (due: string): string => localTime(due).slice(0, 10);

/** Shows the period from one due time to another. @param isDayKnown whether only the times of day are shown */
export function dueRange(first: string, last: string, isDayKnown = false): HTMLElement {
  const begin = dueElement(first, isDayKnown);
  return first === last ? begin : make('span', begin, ' – ', dueElement(last, isDayKnown || dueDay(first) === dueDay(last)));
}

/** Groups items by a key. The items of a group, and the groups, stay in the order of the list. */
export function grouped<T>(items: readonly T[], keyOfItem: (item: T) => string): Map<string, [T, ...T[]]> {
  const groups = new Map<string, [T, ...T[]]>();
  for (const item of items) {
    const group = groups.get(keyOfItem(item));
    if (group) group.push(item);
    else groups.set(keyOfItem(item), [item]);
  }
  return groups;
}

const maxFiles = 5;

export function fileList({ files, reason }: ToldOccurrence): Child {
  if (files.length === 0 && reason === undefined) return undefined;
  const items = files.slice(0, maxFiles).map(({ path, time, size, event_uuid }) => {
    const href = hashFor('events', event_uuid, { at: time });
    return make('li', make('a', { href }, datum(path)), make('span.hint', ' ', timeElement(time), `, ${sizeText(size)}`));
  });
  if (files.length > maxFiles) items.push(make('li.hint', text('moreFiles', { count: files.length - maxFiles })));
  if (reason !== undefined) items.push(make('li.hint', dueText('dueReason', { reason: clear(reason) })));
  return make('ul.plain-list', ...items);
}

/** Returns the column with the actions of an occurrence. @param reload called after an action */
export function actionsColumn(reload: () => Promise<void>): Column<ToldOccurrence> {
  return { title: text('action'), cell: (one) => actions(one, reload), className: 'actions' };
}

/** Returns an action that asks a question, and reloads the page if the answer changed something. */
export function act(question: () => Promise<boolean>, reload: () => Promise<void>): () => void {
  return () => void tell(question().then((isDone) => (isDone ? reload() : undefined)));
}

/** A file that came in time is seldom expected once more, so its button is only an icon. */
function actions(one: ToldOccurrence, reload: () => Promise<void>): Child {
  if (one.watched === false) return undefined;
  const mayExcuse = one.state !== 'met' && one.state !== 'excused';
  const ask = act(() => expectAgain(one), reload);
  const isRare = one.state === 'met';
  const again = iconedButton(isRare ? '' : dueText('expectAgain'), isRare ? 'refresh' : undefined, ask, isRare ? 'quiet small' : 'small');
  if (isRare) again.title = again.ariaLabel = dueText('expectAgain');
  return make(
    'div.row',
    mayExcuse &&
      makeButton(
        dueText('excuse'),
        undefined,
        act(() => excuse(one), reload),
        'small',
      ),
    one.state !== 'waiting' && again,
  );
}

function subject({ name, due }: ToldOccurrence): HTMLElement {
  return make('p.stacked', datum(name), dueElement(due));
}

/** Names an occurrence in a message. */
function namesIn({ name, due }: ToldOccurrence) {
  return { name: clear(name), due: exactTime(Date.parse(due), true, true).join(' ') };
}

function actionUrl({ expectation }: ToldOccurrence, action: string): string {
  return `/api/expectations/${encodeURIComponent(expectation)}/${action}`;
}

function reasonInput(): HTMLInputElement {
  return make('input', { autocomplete: 'off', maxLength: 1000, required: true });
}

function sendExcuse(one: ToldOccurrence, reason: string): Promise<unknown> {
  return ask('POST', actionUrl(one, 'excuse'), { body: { due: one.due, reason } });
}

/** Asks once for a reason, and excuses all given occurrences of an expectation. @returns whether any was excused */
export async function excuseAll(misses: readonly ToldOccurrence[]): Promise<boolean> {
  const [first, last] = [misses[0], misses.at(-1)];
  if (!first || !last) return false;
  const reason = reasonInput();
  const label = dueText(misses.length === 1 ? 'excuse' : 'excuseAll');
  const progress = progressBar(label, misses.length);
  const left = [...misses];
  let count = 0;
  let isStopped = false;
  const check = async () => {
    try {
      for (let one = left[0]; one && !isStopped; one = left[0]) {
        const isExcused = await sendExcuse(one, reason.value.trim()).then(() => true, isNoLongerMissing);
        if (isExcused) count++;
        left.shift();
        progress.show(misses.length - left.length);
      }
      return undefined;
    } catch (error) {
      return clear(errorText(error));
    }
  };
  await putQuestion({
    title: dueText('excuseAllQuestion', { count: misses.length }),
    content: [
      make('p.stacked', datum(first.name), dueRange(first.due, last.due)),
      field(dueText('excuseReason'), reason),
      make('p.hint', dueText('excuseEffect')),
      progress.element,
    ],
    buttons: [cancelButton(), { value: 'ok', label, kind: 'primary' }],
    check,
    onStop: () => {
      isStopped = true;
    },
  });
  if (count > 0) notice(dueText('excuseDone', { count, ...namesIn(first) }));
  return count > 0;
}

/** Returns false, because nothing was excused, if the error means that the files have arrived meanwhile (409). @throws every other error */
function isNoLongerMissing(error: unknown): false {
  if (error instanceof Refused && error.status === 409) return false;
  throw error;
}

async function excuse(one: ToldOccurrence): Promise<boolean> {
  const reason = reasonInput();
  const content = [subject(one), field(dueText('excuseReason'), reason), make('p.hint', dueText('excuseEffect'))];
  const send = () => sendExcuse(one, reason.value.trim());
  const isDone = await confirm(dueText('excuseQuestion'), content, { label: dueText('excuse'), kind: 'primary' }, send);
  if (isDone) notice(dueText('excuseDone', { count: 1, ...namesIn(one) }));
  return isDone;
}

async function expectAgain(one: ToldOccurrence): Promise<boolean> {
  const until = make('input', { type: 'datetime-local', required: true });
  until.value = localTime(new Date(Date.now() + 86_400_000).toISOString()).slice(0, 16);
  const content = [subject(one), field(dueText('expectUntil'), until), make('p.hint', dueText('expectAgainEffect'))];
  const send = () => ask('POST', actionUrl(one, 'expect-again'), { body: { due: one.due, until: new Date(until.value).toISOString() } });
  const isDone = await confirm(dueText('expectAgainQuestion'), content, { label: dueText('expectAgain'), kind: 'primary' }, send);
  if (isDone) notice(dueText('expectAgainDone', namesIn(one)));
  return isDone;
}
