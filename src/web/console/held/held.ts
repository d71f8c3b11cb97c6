import type { HeldTargets } from '../../../console/api/schemas/accounts.ts';
import type { AttemptView } from '../../../console/api/schemas/deliveries.ts';
import type { EventView } from '../../../console/api/schemas/events.ts';
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
import { copyButton, field, ofAccount, selection } from '../fields.ts';
import { faultText } from '../handler-names.ts';
import { colon, text } from '../language.ts';
import { ask, reasonText, withQuery } from '../request.ts';
import { actionButton, badge, heading, iconedButton, liveMark, panel, type Stage, showCount, tell } from '../section.ts';
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
  verdicts: { inspection: string; name: string; verdict: string; message: string; fault?: AttemptView['fault']; time: string }[];
}

/** The actions of the API, with the prefixes of their texts. */
const names = { release: 'held_release', discard: 'held_discard', 'inspect-again': 'held_inspect_again' } as const;
type Action = keyof typeof names;

/** Returns the last name of an upload's path, for messages. */
function nameInMessage({ path }: Held): string {
  return clear(path.slice(path.lastIndexOf('/') + 1));
}

/** Number of names that the question about a release gives for each outcome. */
const namesPerOutcome = 3;

type HeldResults = { results: { id: string; error?: string | undefined; code?: string | undefined }[] };
type Target = NonNullable<HeldTargets['results'][number]['target']>;

/** Divides the results of a request about uploads. Another person can have decided about an upload meanwhile: then it is `gone`. */
async function divided(items: readonly Held[], results: HeldResults['results']) {
  const failed = new Map(results.flatMap((result) => (result.error === undefined ? [] : [[result.id, result]])));
  const isGone = ({ id }: Held) => failed.get(id)?.code === 'not-found';
  const first = [...failed.values()].find(({ code }) => code !== 'not-found');
  return {
    done: items.filter(({ id }) => !failed.has(id)),
    gone: items.filter(isGone),
    problem: first && clear(await reasonText({ message: first.error, code: first.code })),
  };
}

type Outcome = Awaited<ReturnType<typeof divided>>;

/** Finds the items that have the names of uploads, by the IDs of the uploads. */
async function findTargets(items: readonly Held[], signal: AbortSignal) {
  const body = { ids: items.map(({ id }) => id) };
  const { results } = await ask<HeldTargets>('POST', '/api/held/targets', { body, signal });
  const targets: ReadonlyMap<string, Target> = new Map(results.flatMap(({ id, target }) => (target ? [[id, target]] : [])));
  return { targets, ...(await divided(items, results)) };
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
  const items = verdicts.map(({ inspection, name, verdict, message, fault, time }) => {
    const source = Object.assign(datum(name), { title: inspection === name ? '' : `UUID ${clear(inspection)}` });
    const told = [source, ` ${translated('verdict', verdict)} · `, ageElement(time)];
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

/** Pause in milliseconds until running inspections are looked at again. It grows up to the maximum. */
const pausesMs = { first: 500, max: 10_000 };

/** The events of this many milliseconds are searched for the outcome of an inspection. The clock of the browser may be wrong. */
const searchedMs = 3_600_000;

/** Events that tell how held uploads ended: refused, released, ended. */
const endings = { refused: '40071', released: '40073', ended: '40074' } as const;

/** Finds the events about uploads that are no longer held. An upload can be gone a moment before its event can be found. */
async function findEndings(gone: readonly Held[], signal: AbortSignal): Promise<readonly EventView[]> {
  const since = new Date(Date.now() - searchedMs).toISOString();
  const query = withQuery('/api/events', { id: Object.values(endings).join(), since, limit: '1000' });
  for (let attempt = 0; gone.length > 0; attempt++) {
    const { events } = await ask<{ events: EventView[] }>('GET', query, { signal });
    const told = new Set(events.map(({ data }) => data.held_id));
    if (attempt === 3 || gone.every(({ id }) => told.has(id))) return events;
    await new Promise((resolve) => setTimeout(resolve, pausesMs.first));
  }
  return [];
}

/** Says that others have decided about uploads; about a single one, also who did. */
async function tellGone(gone: readonly Held[], signal: AbortSignal): Promise<void> {
  const [first] = gone;
  if (!first) return;
  const events = gone.length > 1 ? [] : await findEndings(gone, signal).catch(() => []);
  const end = events.find(({ id, data }) => data.held_id === first.id && id !== endings.refused);
  const name = String(end?.data.administrator ?? '');
  const how = end?.id === endings.released ? 'released' : 'discarded';
  const values = { count: gone.length, name: clear(name), path: nameInMessage(first) };
  notice(heldText(name === '' ? 'gone' : `gone_${how}`, values), 'info');
}

/** Says what came out when uploads were inspected again. @param items the uploads that are held now */
async function tellOutcomes(inspected: readonly Held[], items: readonly Held[], signal: AbortSignal): Promise<void> {
  const held = new Map(items.map((item) => [item.id, item]));
  const events = await findEndings(
    inspected.filter(({ id }) => !held.has(id)),
    signal,
  );
  const outcomes = inspected.map((item) => {
    const now = held.get(item.id);
    const said = now?.verdicts.find(({ message }) => message !== '');
    if (now) return { item, outcome: 'again', reason: said ? faultText(said.fault, said.message) : '' } as const;
    const end = events.find(({ data }) => data.held_id === item.id);
    if (end?.id === endings.released) return { item, outcome: 'released', reason: '' } as const;
    if (end?.data.reason !== 'refused') return { item, outcome: 'ended', reason: '' } as const;
    const isOfItem = ({ id, data, account }: EventView) =>
      id === endings.refused && data.path === item.path && account.name === item.account;
    return { item, outcome: 'refused', reason: String(events.find(isOfItem)?.data.message ?? '') } as const;
  });
  for (const outcome of ['released', 'again', 'ended', 'refused'] as const) {
    const alike = outcomes.filter((one) => one.outcome === outcome);
    const [first] = alike;
    if (!first) continue;
    const words = heldText(`inspected_${outcome}`, { count: alike.length, path: nameInMessage(first.item) });
    const reason = alike.length === 1 && first.reason !== '' ? ` ${clear(first.reason)}` : '';
    notice(words + reason, outcome === 'refused' ? 'error' : outcome === 'released' ? 'success' : 'info');
  }
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
export async function showHeld({ main, route: { query }, signal }: Stage): Promise<void> {
  const account = query.get('account');
  const act = async (action: Action, items: readonly Held[], reason = '') => {
    const body = { ids: items.map(({ id }) => id), ...(reason !== '' && { reason }) };
    return divided(items, (await ask<HeldResults>('POST', `/api/held/${action}`, { body })).results);
  };
  const report = async (action: Action, { done: [first, ...others], gone, problem }: Outcome) => {
    const tellDone = (item: Held) => {
      const words = heldText(`${names[action]}_done`, { count: 1 + others.length, path: nameInMessage(item) });
      return notice(words, action === 'inspect-again' ? 'info' : 'success');
    };
    if (first && action !== 'inspect-again') tellDone(first);
    if (problem !== undefined) notice(text('failed', { reason: problem }), 'error');
    void tellGone(gone, signal);
    await load();
    // If all inspections have ended already, their outcome is the message.
    if (action === 'inspect-again' && first && awaited.size > 0) forget = tellDone(first);
  };
  let isDeciding = false;
  const decide = async (action: 'release' | 'discard', items: readonly Held[]) => {
    if (isDeciding) return;
    isDeciding = true;
    await askAbout(action, items).finally(() => {
      isDeciding = false;
    });
  };
  const askAbout = async (action: 'release' | 'discard', wanted: readonly Held[]) => {
    const found = action === 'release' ? await findTargets(wanted, signal) : undefined;
    if (found && found.done.length < wanted.length) await report(action, { ...found, done: [] });
    const [items, targets] = [found?.done ?? wanted, found?.targets ?? new Map<string, Target>()];
    const count = items.length;
    if (count === 0) return;
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
    let outcome: Outcome | undefined;
    const send = async () => {
      outcome = await act(action, items, reason.value.trim());
      return outcome.done.length > 0 ? undefined : outcome.problem;
    };
    if ((await confirm(heldText(`held_${action}_question`, { count }), question, button, send)) && outcome) await report(action, outcome);
  };
  /** The uploads that are being inspected again, by ID, until all have an outcome. */
  const awaited = new Map<string, Held>();
  /** Removes the message that files are being inspected, which their outcome replaces. */
  let forget = () => {};
  const inspectAgain = async (items: readonly Held[]) => {
    const outcome = await act('inspect-again', items);
    for (const item of outcome.done) awaited.set(item.id, item);
    pauseMs = pausesMs.first;
    await report('inspect-again', outcome);
  };
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
  let offered = 0;
  const ofChosen = make('div.row', { hidden: true });
  const chosenItems = () => table.items().filter(({ id }) => chosen.has(id));
  const { column, element, chosen, keep, unchoose } = selection<Held>(
    ({ id }) => id,
    ({ path }) => heldText('heldSelect', { path: clear(path) }),
    () => {
      ofChosen.hidden = chosen.size === 0;
      // The page also loads by itself, and then the focus must stay on these buttons.
      if (chosen.size !== offered) ofChosen.replaceChildren(...buttons(chosenItems, chosen.size));
      offered = chosen.size;
    },
  );
  const all = mayReview() ? [column, ...columns, actions] : columns;
  const table = makeTable<Held>(text('held'), heldText('heldNone'), all, ({ id }) => id);
  const more = make('p.hint', { hidden: true });
  const bulk = mayReview() && make('div.heading.bulk', element, ofChosen, unchoose);
  let pauseMs = pausesMs.first;
  let timer = 0;
  signal.addEventListener('abort', () => clearTimeout(timer));
  const loadLater = () => {
    clearTimeout(timer);
    if (signal.aborted) return;
    timer = window.setTimeout(() => void load().catch(loadLater), pauseMs);
    pauseMs = Math.min(pauseMs * 1.5, pausesMs.max);
  };
  let newest: Promise<void>;
  const load = () => {
    clearTimeout(timer);
    const own: Promise<void> = show(() => own === newest);
    newest = own;
    return own;
  };
  const show = async (isNewest: () => boolean): Promise<void> => {
    const path = withQuery('/api/held', { account: account ?? '' });
    const { items, total } = await ask<{ items: Held[]; total: number }>('GET', path, { signal });
    // A later request has newer data, but its reply can arrive earlier.
    if (!isNewest()) return newest;
    // The upload that has waited longest comes first.
    items.sort((one, other) => Date.parse(one.time) - Date.parse(other.time));
    keep(items);
    table.show(items);
    if (bulk) bulk.hidden = items.length < 2;
    more.hidden = items.length === total;
    more.textContent = text('heldMore', { shown: items.length, total });
    const running = items.filter(({ state }) => state === 'inspecting');
    if (account === null && items.length === total) showCount('held', total - running.length);
    if (running.length > 0) loadLater();
    if (awaited.size === 0 || running.some(({ id }) => awaited.has(id))) return;
    const inspected = [...awaited.values()];
    awaited.clear();
    forget();
    void tell(tellOutcomes(inspected, items, signal));
  };
  await load();
  document.addEventListener('heldchange', () => void load().catch(loadLater), { signal });
  main.replaceChildren(
    heading(text('held'), liveMark(), actionButton(text('heldRefresh'), 'refresh', load, 'compact')),
    ...ofAccount('held', query),
    panel(heldText('heldTitle'), make('p.hint', heldText('heldHint')), bulk, table.element, more),
  );
}
