import type { HeldTargets } from '../../../console/api/schemas/accounts.ts';
import type { AttemptView } from '../../../console/api/schemas/deliveries.ts';
import { agoText } from '../../shared/dates.ts';
import { firstOf, nameList } from '../../shared/dialogs.ts';
import { icon, make, makeButton } from '../../shared/dom.ts';
import { partTexts, sizeText } from '../../shared/locale.ts';
import { notice } from '../../shared/notices.ts';
import de from '../../texts/held/de.json' with { type: 'json' };
import en from '../../texts/held/en.json' with { type: 'json' };
import es from '../../texts/held/es.json' with { type: 'json' };
import fr from '../../texts/held/fr.json' with { type: 'json' };
import { confirm } from '../confirm.ts';
import { copyButton, field, selection } from '../fields.ts';
import { faultText } from '../handler-names.ts';
import { colon, text } from '../language.ts';
import { ask } from '../request.ts';
import { actionButton, badge, heading, iconedButton, panel, type Stage, showCount, tell } from '../section.ts';
import { mayReview } from '../session.ts';
import { ageElement, clear, datum, pathDatum } from '../shown.ts';
import { type Column, makeTable } from '../table.ts';

const heldText = partTexts<keyof typeof en>({ en, de, es, fr });

/** Translates a name from the API; returns the name itself if it has no translation. */
function translated(prefix: 'held' | 'verdict', name: string): string {
  const key = `${prefix}_${name}`;
  return Object.hasOwn(en, key) ? heldText(key as keyof typeof en) : name;
}

/** Returns the label of a button. @param count number of uploads; undefined for the button of a single upload */
function labelOf(action: Action, count?: number): string {
  return count === undefined ? heldText(names[action]) : heldText(`${names[action]}_count`, { count });
}

interface Held {
  id: string;
  account: string;
  path: string;
  size: number;
  time: string;
  digest: { 'sha-256': string };
  state: 'inspecting' | 'held';
  reason: string;
  verdicts: { inspection: string; name: string; verdict: string; message: string; fault?: AttemptView['fault'] }[];
}

/** The actions of the API, with the prefixes of their texts. */
const names = { release: 'held_release', discard: 'held_discard', 'inspect-again': 'held_inspect_again' } as const;
type Action = keyof typeof names;

/** Number of names that the question about a release gives for each outcome. */
const namesPerOutcome = 3;

type Target = NonNullable<HeldTargets['results'][number]['target']>;

/** Finds the items that have the names of uploads, by the IDs of the uploads. @throws Error if none of the uploads is still held */
async function findTargets(items: readonly Held[], signal: AbortSignal): Promise<ReadonlyMap<string, Target>> {
  const body = { ids: items.map(({ id }) => id) };
  const { results } = await ask<HeldTargets>('POST', '/api/held/targets', { body, signal });
  if (results.every(({ error }) => error !== undefined)) throw new Error(results[0]?.error);
  return new Map(results.flatMap(({ id, target }) => (target ? [[id, target]] : [])));
}

/** Says what the release of uploads does to the items that have their names now. */
function targetWords(items: readonly Held[], targets: ReadonlyMap<string, Target>, nameOf: (item: Held) => string): HTMLElement[] {
  const about = ({ size, modified }: Target) => ({ size: sizeText(size), time: agoText(Date.parse(modified), true) });
  const [only] = items;
  const target = items.length === 1 && only && targets.get(only.id);
  if (target) return [make('p.notice.warn', heldText(`target_${target.outcome}`, about(target)))];
  const words: HTMLElement[] = [
    make('p.hint', heldText(targets.size === 0 ? 'targetNone' : 'held_release_effect', { count: items.length })),
  ];
  for (const outcome of ['replaced', 'numbered', 'refused'] as const) {
    const names = items.flatMap((item) => {
      const found = targets.get(item.id);
      return found?.outcome === outcome ? [heldText('targetNamed', { path: nameOf(item), ...about(found) })] : [];
    });
    const told = () => [heldText(`target_${outcome}_count`, { count: names.length }), nameList(firstOf(names, namesPerOutcome))];
    if (names.length > 0) words.push(make('div.notice.warn', make('div', ...told())));
  }
  return words;
}

/** Lists the reasons of the inspections, each with the name of the inspection below it. */
function verdictList({ verdicts }: Held): HTMLElement {
  const items = verdicts.map(({ inspection, name, verdict, message, fault }) => {
    const source = Object.assign(datum(name), { title: inspection === name ? '' : `UUID ${clear(inspection)}` });
    const told = [source, ` ${translated('verdict', verdict)}`];
    return message === '' ? make('li', ...told) : make('li', make('div', clear(faultText(fault, message))), make('div.hint', ...told));
  });
  return make('ul.plain-list', ...items);
}

/** Shows the beginning of a SHA-256 in the form of `sha256sum`, with a button that copies the whole. */
function digestLine(base64: string): HTMLElement {
  const whole = [...atob(base64)].map((byte) => byte.charCodeAt(0).toString(16).padStart(2, '0')).join('');
  const shown = make('code', { title: whole }, `${whole.slice(0, 12)}…`);
  const showWhole = () => {
    shown.textContent = whole;
    getSelection()?.selectAllChildren(shown);
  };
  const copy = copyButton('', () => whole, heldText('heldCopied'), 'quiet small', showWhole);
  copy.ariaLabel = copy.title = heldText('heldCopy');
  return make('span.hint.digest', make('span', 'SHA-256 ', shown), copy);
}

const columns: readonly Column<Held>[] = [
  {
    title: text('path'),
    cell: ({ path, account, size, time, digest }) => {
      const about = make('span.hint', datum(account), ` · ${sizeText(size)} · `, ageElement(time));
      return make('div.stacked', pathDatum(path), about, digestLine(digest['sha-256']));
    },
    className: 'held-path',
  },
  {
    title: text('reason'),
    cell: (held) => {
      const { state, reason } = held;
      if (state === 'inspecting') return make('div.stacked', badge(heldText('heldInspecting')), verdictList(held));
      // The list already says which inspection holds a file.
      const isTold = reason === 'verdict' && held.verdicts.length > 0;
      const told = !isTold && badge(translated('held', reason), reason === 'verdict' ? 'calm' : 'warn');
      return make('div.stacked', told, verdictList(held));
    },
    className: 'whole',
  },
];

/** Shows the uploads that inspections hold. Reviewers and operators can decide about them, one by one or several at once. */
export async function showHeld({ main, signal }: Stage): Promise<void> {
  const act = async (action: Action, items: readonly Held[], reason = '') => {
    const body = { ids: items.map(({ id }) => id), ...(reason !== '' && { reason }) };
    const { results } = await ask<{ results: { error?: string }[] }>('POST', `/api/held/${action}`, { body });
    const problems = results.flatMap(({ error }) => (error === undefined ? [] : [clear(error)]));
    return { done: results.length - problems.length, problem: problems[0] };
  };
  const report = async (action: Action, { done, problem }: { done: number; problem: string | undefined }) => {
    if (done > 0) notice(heldText(`${names[action]}_done`, { count: done }));
    if (problem !== undefined) notice(text('failed', { reason: problem }), 'error');
    await load();
  };
  let isDeciding = false;
  const decide = async (action: 'release' | 'discard', items: readonly Held[]) => {
    if (isDeciding) return;
    isDeciding = true;
    await askAbout(action, items).finally(() => {
      isDeciding = false;
    });
  };
  const askAbout = async (action: 'release' | 'discard', items: readonly Held[]) => {
    const count = items.length;
    const targets = action === 'release' ? await findTargets(items, signal) : new Map<string, Target>();
    const reason = make('input', { autocomplete: 'off', maxLength: 1000 });
    // Several accounts can have files with the same path.
    const isOne = new Set(table.items().map(({ account }) => account)).size === 1;
    const nameOf = ({ account, path }: Held) => (isOne ? path : `${account}${colon}${path}`);
    const question = [
      nameList(items.map(nameOf)),
      ...(action === 'release'
        ? targetWords(items, targets, nameOf)
        : [make('p.hint', heldText('held_discard_effect', { count })), field(heldText('heldReason'), reason)]),
    ];
    const isReplacing = [...targets.values()].some(({ outcome }) => outcome === 'replaced');
    const button = {
      label: isReplacing ? heldText('heldReplace', { count }) : labelOf(action, count > 1 ? count : undefined),
      kind: action === 'discard' || isReplacing ? 'primary danger' : 'primary',
    } as const;
    let outcome: Awaited<ReturnType<typeof act>> | undefined;
    const send = async () => {
      outcome = await act(action, items, reason.value.trim());
      return outcome.done > 0 ? undefined : outcome.problem;
    };
    if ((await confirm(heldText(`held_${action}_question`, { count }), question, button, send)) && outcome) await report(action, outcome);
  };
  const inspectAgain = async (items: readonly Held[]) => report('inspect-again', await act('inspect-again', items));
  const buttons = (itemsNow: () => readonly Held[], count?: number) => [
    iconedButton(labelOf('release', count), 'check', () => void tell(decide('release', itemsNow())), 'small'),
    makeButton(labelOf('discard', count), 'close', () => void tell(decide('discard', itemsNow())), 'small'),
    actionButton(labelOf('inspect-again', count), 'search', () => inspectAgain(itemsNow()), 'quiet small'),
  ];
  const actions: Column<Held> = {
    title: text('action'),
    cell: (item) =>
      make(
        'div.row',
        ...buttons(() => [item]),
        make('a.button.quiet.small', { href: `/api/held/${item.id}/content`, download: '' }, icon('download'), heldText('heldDownload')),
      ),
    className: 'actions',
  };
  const ofChosen = make('div.row', { hidden: true });
  const chosenItems = () => table.items().filter(({ id }) => chosen.has(id));
  const { column, element, chosen, keep, unchoose } = selection<Held>(
    ({ id }) => id,
    ({ path }) => heldText('heldSelect', { path: clear(path) }),
    () => {
      ofChosen.hidden = chosen.size === 0;
      ofChosen.replaceChildren(...buttons(chosenItems, chosen.size));
    },
  );
  const all = mayReview() ? [column, ...columns, actions] : columns;
  const table = makeTable<Held>(text('held'), heldText('heldNone'), all, ({ id }) => id);
  const more = make('p.hint', { hidden: true });
  const bulk = mayReview() && make('div.heading.bulk', element, ofChosen, unchoose);
  const load = async () => {
    const { items, total } = await ask<{ items: Held[]; total: number }>('GET', '/api/held', { signal });
    // The upload that has waited longest comes first.
    items.sort((one, other) => Date.parse(one.time) - Date.parse(other.time));
    keep(items);
    table.show(items);
    showCount('held', total);
    if (bulk) bulk.hidden = items.length < 2;
    more.hidden = items.length === total;
    more.textContent = text('heldMore', { shown: items.length, total });
  };
  await load();
  main.replaceChildren(
    heading(text('held'), actionButton(text('heldRefresh'), 'refresh', load, 'compact')),
    panel(heldText('heldTitle'), make('p.hint', heldText('heldHint')), bulk, table.element, more),
  );
}
