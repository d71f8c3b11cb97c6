import type { ToldOccurrence } from '../../../expectations/told-occurrence.ts';
import { type Child, make, makeButton } from '../../shared/dom.ts';
import { sizeText } from '../../shared/locale.ts';
import { notice } from '../../shared/notices.ts';
import { confirm } from '../confirm.ts';
import { field, localTime } from '../fields.ts';
import { text, translate } from '../language.ts';
import { ask } from '../request.ts';
import { hashFor } from '../route.ts';
import { badge, tell } from '../section.ts';
import { mayChange } from '../session.ts';
import { clear, datum, timeElement } from '../shown.ts';
import type { Column } from '../table.ts';

type State = ToldOccurrence['state'];

/** The kind of badge for each state. */
export const stateKinds: Readonly<Record<State, 'good' | 'bad' | 'warn' | 'calm'>> = {
  met: 'good',
  late: 'warn',
  missing: 'bad',
  malformed: 'bad',
  excused: 'calm',
  waiting: 'calm',
};

export const occurrenceKey = ({ expectation, due }: ToldOccurrence): string => `${expectation} ${due}`;

/** Groups items by a key. The items of a group, and the groups, stay in the order of the list. */
export function grouped<T>(items: readonly T[], keyOfItem: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOfItem(item));
    if (group) group.push(item);
    else groups.set(keyOfItem(item), [item]);
  }
  return groups;
}

/** Maximum number of files that one row names. */
const maxFiles = 5;

function fileList({ files, reason }: ToldOccurrence): Child {
  if (files.length === 0 && reason === undefined) return undefined;
  const items = files.slice(0, maxFiles).map(({ path, time, size, event_uuid }) => {
    const href = hashFor('events', event_uuid, { at: time });
    return make('li', make('a', { href }, datum(path)), make('span.hint', ' ', timeElement(time), `, ${sizeText(size)}`));
  });
  if (files.length > maxFiles) items.push(make('li.hint', text('dueMoreFiles', { count: files.length - maxFiles })));
  if (reason !== undefined) items.push(make('li.hint', clear(reason)));
  return make('ul.plain-list', ...items);
}

export const dueColumn: Column<ToldOccurrence> = { title: text('due'), cell: ({ due }) => timeElement(due), className: 'narrow' };

export const nameColumn: Column<ToldOccurrence> = {
  title: text('name'),
  cell: ({ expectation, name }) => make('a', { href: hashFor('expectations', expectation) }, datum(name)),
};

/** Returns the columns for the state and the files and, for operators, a column of actions. @param reload called after an action */
export function stateColumns(reload: () => Promise<void>): Column<ToldOccurrence>[] {
  const shown: Column<ToldOccurrence>[] = [
    { title: text('dueState'), cell: ({ state }) => badge(translate('due', state), stateKinds[state]), className: 'narrow' },
    { title: text('dueFiles'), cell: fileList, className: 'whole' },
  ];
  return mayChange() ? [...shown, { title: text('action'), cell: (one) => actions(one, reload), className: 'actions' }] : shown;
}

function actions(one: ToldOccurrence, reload: () => Promise<void>): HTMLElement {
  const act = (question: (one: ToldOccurrence) => Promise<boolean>) => () =>
    void tell(question(one).then((isDone) => (isDone ? reload() : undefined)));
  const mayExcuse = one.state !== 'met' && one.state !== 'excused';
  return make(
    'div.row',
    mayExcuse && makeButton(text('excuse'), undefined, act(excuse), 'small'),
    one.state !== 'waiting' && makeButton(text('expectAgain'), undefined, act(expectAgain), 'small'),
  );
}

function subject({ name, due }: ToldOccurrence): HTMLElement {
  return make('p', datum(name), ', ', timeElement(due));
}

function actionUrl({ expectation }: ToldOccurrence, action: string): string {
  return `/api/expectations/${encodeURIComponent(expectation)}/${action}`;
}

async function excuse(one: ToldOccurrence): Promise<boolean> {
  const reason = make('input', { autocomplete: 'off', maxLength: 1000, required: true });
  const content = [subject(one), field(text('excuseReason'), reason), make('p.hint', text('excuseEffect'))];
  const act = () => ask('POST', actionUrl(one, 'excuse'), { body: { due: one.due, reason: reason.value.trim() } });
  const isDone = await confirm(text('excuseQuestion'), content, { label: text('excuse'), kind: 'primary' }, act);
  if (isDone) notice(text('excuseDone'));
  return isDone;
}

async function expectAgain(one: ToldOccurrence): Promise<boolean> {
  const until = make('input', { type: 'datetime-local', required: true });
  until.value = localTime(new Date(Date.now() + 86_400_000).toISOString()).slice(0, 16);
  const content = [subject(one), field(text('expectUntil'), until), make('p.hint', text('expectAgainEffect'))];
  const act = () => ask('POST', actionUrl(one, 'expect-again'), { body: { due: one.due, until: new Date(until.value).toISOString() } });
  const isDone = await confirm(text('expectAgainQuestion'), content, { label: text('expectAgain'), kind: 'primary' }, act);
  if (isDone) notice(text('expectAgainDone'));
  return isDone;
}
