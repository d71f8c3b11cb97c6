import { displayName, nameInText } from '../../../lib/display-name.ts';
import type { IconName } from '../../../lib/icon-shapes.ts';
import { make, makeButton } from '../../shared/dom.ts';
import { formatTag, partTexts } from '../../shared/locale.ts';
import { notice } from '../../shared/notices.ts';
import { addStyle } from '../../shared/parts.ts';
import de from '../../texts/transfer/de.json' with { type: 'json' };
import en from '../../texts/transfer/en.json' with { type: 'json' };
import es from '../../texts/transfer/es.json' with { type: 'json' };
import fr from '../../texts/transfer/fr.json' with { type: 'json' };
import { text } from '../language.ts';
import { folderUrl, may } from '../navigation/folder.ts';
import { normalised } from '../rows/filter.ts';
import type { Member } from '../rows/rows.ts';
import { type ListedMember, listMembers, memberUrl, trySend } from '../server.ts';
import { currentUserName } from '../sign-in.ts';
import { readPart } from '../thumbnails/thumbnail-of.ts';
import { askTaken, type ConflictChoice } from '../uploads/conflict.ts';
import { nextName } from '../uploads/upload.ts';
import { askAndRun, stoppedText } from './command-dialogs.ts';
import { type Arrival, messageName, type Outcome, runAtOnce, showOutcome, type TransferKind } from './commands.ts';
import { nameProblem, noticeUndoable, sentence } from './members.ts';
import style from './transfer.css';
import { folderLabel } from './undo.ts';

addStyle(style);

const transferText = partTexts<keyof typeof en>({ en, de, es, fr });

const words = {
  move: { title: 'moveTo', here: 'moveHere', question: 'takenMove', as: 'movedAs' },
  copy: { title: 'copyTo', here: 'copyHere', question: 'takenCopy', as: 'copiedAs' },
} as const;

const naturally = new Intl.Collator(formatTag, { numeric: true }).compare;

/** Asks for a destination folder, then moves or copies members to it. */
export async function transfer(kind: TransferKind, members: readonly Member[]): Promise<void> {
  // While this part was loaded, the button may have been pressed again.
  if (document.querySelector('dialog.folder-choice')) return;
  const { title, here } = words[kind];
  const browser = new FolderBrowser(kind, members);
  const asked = askAndRun<Arriving>(
    transferText(title, { count: members.length, name: nameInText(members[0]?.name ?? '') }),
    [browser.element],
    { label: transferText(here), kind: 'primary' },
    members,
    async () => {
      const planned = await plan(kind, members, browser.chosen);
      return planned && { command: { command: kind, destination: decodeURIComponent(browser.chosen) }, members: planned };
    },
    'folder-choice',
  );
  browser.offer();
  const outcome = await asked;
  if (!outcome) return;
  if (outcome.done.length > 0) keepRecent(browser.chosen);
  await show(kind, outcome, browser.chosen);
}

/** Moves or copies members to a folder. @param to URL path of the folder */
export async function transferTo(kind: TransferKind, members: readonly Member[], to: string): Promise<void> {
  const planned = await plan(kind, members, to);
  if (!planned) return;
  const command = { command: kind, destination: decodeURIComponent(to) } as const;
  await show(kind, await runAtOnce<Arriving>(text(kind), [{ command, members: planned }]), to);
}

type Arriving = Member & { arrival?: Arrival };

async function show(kind: TransferKind, outcome: Outcome<Arriving>, url: string): Promise<void> {
  const [first, ...others] = outcome.done;
  const newName = typeof first?.arrival === 'object' && others.length === 0 ? first.arrival.newName : undefined;
  const to = folderLabel(url);
  const tell = (message: string) => {
    const names = { name: messageName(first?.name ?? ''), new: messageName(newName ?? ''), to };
    const shown = newName === undefined ? message : transferText(words[kind].as, names);
    if (kind === 'move') noticeUndoable(shown, { to: url, members: outcome.done });
    else notice(shown);
  };
  const again = (failed: readonly Arriving[]) => void transferTo(kind, failed, url);
  if (kind === 'copy') outcome.stoppedText = stoppedText;
  await showOutcome(outcome, kind, kind === 'move' ? 'moved' : 'copied', again, tell, to, url === folderUrl() ? newName : undefined);
}

/**
 * Decides how each member arrives in a folder. A copy in the member's own folder gets a number. In another folder, the user decides if the
 * name is taken.
 * @returns undefined if the user cancelled
 */
async function plan(kind: TransferKind, members: readonly Member[], to: string): Promise<Arriving[] | undefined> {
  const listed = await listMembers(to);
  if (typeof listed === 'string') return [...members];
  const there = new Map(listed.map((member) => [member.name, { ...asMember(member), folder: to }]));
  const planned: Arriving[] = [];
  let answer: ConflictChoice | undefined;
  for (const [index, member] of members.entries()) {
    const present = there.get(member.name);
    const isOwn = member.folder === to;
    let choice: ConflictChoice | undefined = isOwn && kind === 'copy' ? 'keep-both' : answer;
    if (present && !isOwn && (choice === undefined || (choice === 'overwrite' && (present.isFolder || member.isFolder)))) {
      const asked = await askAbout(kind, member, present, index < members.length - 1);
      if (!asked.choice) return undefined;
      choice = asked.choice;
      if (asked.isForAll) answer = choice;
    }
    const arrival = arrivalOf(present && (!isOwn || kind === 'copy') ? choice : undefined, member.name, there);
    planned.push({ ...member, ...(arrival && { arrival }) });
    if (arrival !== 'skip') there.set(typeof arrival === 'object' ? arrival.newName : member.name, member);
  }
  return planned;
}

function arrivalOf(choice: ConflictChoice | undefined, name: string, there: ReadonlyMap<string, unknown>): Arrival | undefined {
  return choice === 'keep-both' ? { newName: freeName(name, there) } : choice;
}

function freeName(name: string, there: { has: (name: string) => boolean }): string {
  let free = nextName(name);
  while (there.has(free)) free = nextName(free);
  return free;
}

function asMember({
  name,
  is_directory: isFolder,
  size,
  modified,
}: ListedMember): Pick<Member, 'name' | 'isFolder' | 'sizeBytes' | 'modified'> {
  return { name, isFolder, sizeBytes: size, modified: Math.floor(modified) };
}

type Present = ReturnType<typeof asMember> & Pick<Member, 'folder'>;

function askAbout(kind: TransferKind, member: Member, present: Present, mayRepeat: boolean) {
  const facts = ({ name, folder, isFolder, sizeBytes, modified }: Present) => ({
    sizeBytes: isFolder ? undefined : sizeBytes,
    modified,
    read: (firstBytes?: number) => readPart(memberUrl(name, false, folder), firstBytes),
  });
  const [to, from] = [folderLabel(present.folder), folderLabel(member.folder)];
  return askTaken({
    title: transferText('taken', { to, name: nameInText(member.name) }),
    question: transferText(words[kind].question),
    name: member.name,
    versions: [
      [transferText('there', { to }), facts(present)],
      [transferText('arriving', { from }), facts(member)],
    ],
    mayOverwrite: may('overwrite') && !member.isFolder && !present.isFolder,
    mayRepeat,
  });
}

class FolderBrowser {
  chosen: string;
  readonly element: HTMLElement;
  readonly #kind: TransferKind;
  readonly #members: readonly Member[];
  readonly #from: ReadonlySet<string>;
  readonly #moved: readonly string[];
  readonly #isHere = make('span.hint', { id: 'is-here', hidden: true });
  readonly #place = make('p.place-here', { role: 'status' });
  readonly #problem = make('p.notice.error', { hidden: true, role: 'alert' });
  readonly #filter = make('input', { type: 'search', ariaLabel: text('filter'), placeholder: text('filter'), autocomplete: 'off' });
  readonly #folders = make('ul.names', { ariaLabel: transferText('folders') });
  readonly #name = make('input', { ariaLabel: text('folderName'), placeholder: text('folderName'), maxLength: 255, autocomplete: 'off' });
  readonly #newFolder = make(
    'div.new-folder',
    { hidden: true },
    this.#name,
    makeButton(text('create'), undefined, () => void this.#create()),
  );
  readonly #recent = new Map<string, HTMLButtonElement>();
  readonly #lately = make('p.recent-targets', { hidden: true });
  #folderNames: string[] = [];
  #wanted = '';
  #names: ReadonlySet<string> = new Set();

  /** @param members the items to move or copy. The folder that contains all of them cannot be the destination of a move */
  constructor(kind: TransferKind, members: readonly Member[]) {
    this.#kind = kind;
    this.#members = members;
    this.#from = new Set(members.map(({ folder }) => folder));
    // A folder cannot be moved or copied into itself.
    this.#moved = members.filter(({ isFolder }) => isFolder).map(({ name, folder }) => memberUrl(name, true, folder));
    const [only = folderUrl()] = this.#from.size === 1 ? this.#from : [];
    this.chosen = only;
    this.#filter.addEventListener('input', () => this.#draw());
    // By default, Enter would press the button of the dialog, which chooses the current folder.
    this.#filter.addEventListener('keydown', (event) => this.#onEnter(event, () => this.#folders.querySelector('button')?.click()));
    this.#name.addEventListener('keydown', (event) => this.#onEnter(event, () => void this.#create()));
    const add = makeButton(text('newFolder'), 'newFolder', () => {
      this.#newFolder.hidden = !this.#newFolder.hidden;
      if (!this.#newFolder.hidden) this.#name.focus();
    });
    add.hidden = !may('create-folder');
    const recent = recentFolders().filter((url) => url !== only && !this.#isInside(url));
    for (const url of recent) this.#recent.set(url, this.#wayTo(folderLabel(url), 'recent', url));
    this.#lately.append(make('span.hint', transferText('recent')), ...this.#recent.values());
    const head = make('div.head', this.#filter, add);
    this.element = make('div', this.#lately, this.#place, this.#problem, head, this.#newFolder, this.#folders);
    void this.#begin(only);
  }

  /**
   * Enables the button that chooses the shown folder, or disables it for a move of members that are already there. A sentence beside the
   * folder's name says that they are there or, for a copy, that the copy gets a number.
   */
  offer(): void {
    const [first, ...others] = this.#members;
    const button = this.element.closest('dialog')?.querySelector<HTMLButtonElement>('button[value=ok]');
    this.#isHere.hidden = !first || others.some(({ folder }) => folder !== first.folder) || first.folder !== this.chosen;
    const name = nameInText(freeName(first?.name ?? '', this.#names));
    this.#isHere.textContent = transferText(this.#kind === 'copy' ? 'numbered' : 'isHere', { count: this.#members.length, name });
    if (!button) return;
    button.disabled = !this.#isHere.hidden && this.#kind === 'move';
    button.setAttribute('aria-describedby', this.#isHere.hidden ? '' : this.#isHere.id);
  }

  #onEnter(event: KeyboardEvent, action: () => void): void {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    action();
  }

  #isInside(url: string): boolean {
    return this.#moved.some((folder) => url.startsWith(folder));
  }

  #wayTo(label: string, icon: IconName, url: string): HTMLButtonElement {
    const button = makeButton(label, icon, () => void this.#browse(url), 'quiet');
    button.value = url;
    return button;
  }

  /** A folder without sub-folders offers no destination for a move, so the choice begins in the folder above it. */
  async #begin(url: string): Promise<void> {
    await this.#browse(url);
    if (this.#kind === 'move' && this.#wanted === url && this.#folderNames.length === 0 && url !== '/home/')
      await this.#browse(above(url), true);
  }

  /** @param isOffer whether the shown folder stays if the other folder cannot be listed */
  async #browse(url: string, isOffer = false): Promise<void> {
    this.#wanted = url;
    const content = await listMembers(url);
    // The reply for a folder that was pressed earlier can arrive later.
    if (this.#wanted !== url || (isOffer && typeof content === 'string')) return;
    // `inert` is set when the user presses "Move here". The command then uses the folder that is shown, so no other folder may appear.
    if (this.element.inert) return;
    this.#tell(typeof content === 'string' ? folderLabel(url) + text('colon') + content : undefined);
    if (typeof content === 'string') return;
    this.chosen = url;
    this.#names = new Set(content.map(({ name }) => name));
    this.#place.replaceChildren(make('strong', wholePath(url)), ' ', this.#isHere);
    this.offer();
    this.#filter.value = '';
    const folders = content.filter(({ is_directory: isFolder, name }) => isFolder && !this.#moved.includes(memberUrl(name, true, url)));
    this.#folderNames = folders.map(({ name }) => name).sort(naturally);
    this.#draw();
    this.#folders.querySelector('button')?.focus();
  }

  #draw(): void {
    const wanted = normalised(this.#filter.value.trim());
    const url = this.chosen;
    const items = this.#folderNames
      .filter((name) => normalised(name).includes(wanted))
      .map((name) => this.#wayTo(displayName(name), 'files', memberUrl(name, true, url)));
    if (url !== '/home/' && wanted === '') {
      const parent = above(url);
      items.unshift(this.#wayTo(transferText('folderUp', { name: folderLabel(parent) }), 'up', parent));
    }
    this.#folders.replaceChildren(...items.map((item) => make('li', item)));
    // A recent folder is not offered if it is the current folder, one of its parents, or already in the list.
    const inSight = new Set([url, ...[...this.#folders.querySelectorAll('button')].map(({ value }) => value)]);
    for (const [folder, button] of this.#recent) button.hidden = inSight.has(folder);
    this.#lately.hidden = [...this.#recent.values()].every(({ hidden }) => hidden);
    if (!items.some(({ value }) => value.startsWith(url)))
      this.#folders.append(make('li.hint', wanted === '' ? transferText('noFolders') : text('noMatches')));
  }

  async #create(): Promise<void> {
    const name = this.#name.value.trim();
    const url = memberUrl(name, true, this.chosen);
    const problem = nameProblem(name) ?? (await trySend('PUT', url, { 409: text('nameTaken') }));
    this.#tell(problem && sentence(problem));
    if (problem !== undefined) return this.#name.focus();
    this.#name.value = '';
    this.#newFolder.hidden = true;
    await this.#browse(url);
  }

  #tell(problem: string | undefined): void {
    this.#problem.hidden = problem === undefined;
    this.#problem.textContent = problem ?? '';
  }
}

const above = (url: string) => url.replace(/[^/]+\/$/, '');

function wholePath(url: string): string {
  const top = text('files');
  return url === '/home/' ? top : `${top} / ${folderLabel(url).replaceAll('/', ' / ')}`;
}

/** The browser stores this number of recently chosen folders, newest first, under a key for each account. */
const maxRecent = 3;
const recentKey = () => `svc-targets:${currentUserName()}`;

function recentFolders(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(recentKey()) ?? '[]');
    return Array.isArray(kept) ? kept.filter((url) => typeof url === 'string' && url.startsWith('/home/') && url.endsWith('/')) : [];
  } catch {
    return [];
  }
}

function keepRecent(url: string): void {
  try {
    localStorage.setItem(recentKey(), JSON.stringify([url, ...recentFolders().filter((other) => other !== url)].slice(0, maxRecent)));
  } catch {
    // Without storage, no recent folders are offered.
  }
}
