import { displayName, nameInText } from '../../../lib/display-name.ts';
import type { IconName } from '../../../lib/icon-shapes.ts';
import { make, makeButton } from '../../shared/dom.ts';
import { formatTag, partTexts } from '../../shared/locale.ts';
import { addStyle } from '../../shared/parts.ts';
import de from '../../texts/transfer/de.json' with { type: 'json' };
import en from '../../texts/transfer/en.json' with { type: 'json' };
import es from '../../texts/transfer/es.json' with { type: 'json' };
import fr from '../../texts/transfer/fr.json' with { type: 'json' };
import { text } from '../language.ts';
import { folderUrl, may } from '../navigation/folder.ts';
import { normalised } from '../rows/filter.ts';
import type { Member } from '../rows/rows.ts';
import { listMembers, memberUrl, trySend } from '../server.ts';
import { currentUserName } from '../sign-in.ts';
import { askAndRun, showOutcome, type TransferKind } from './commands.ts';
import { nameProblem } from './members.ts';
import style from './transfer.css';
import { folderLabel, showMoved } from './undo.ts';

addStyle(style);

const transferText = partTexts<keyof typeof en>({ en, de, es, fr });

const words = {
  move: { title: 'moveTo', here: 'moveHere' },
  copy: { title: 'copyTo', here: 'copyHere' },
} as const;

/** Compares names so that folders have the same order as the rows of the page. */
const naturally = new Intl.Collator(formatTag, { numeric: true }).compare;

/** Asks for a destination folder, then moves or copies members to it. */
export async function transfer(kind: TransferKind, members: readonly Member[]): Promise<void> {
  const { title, here } = words[kind];
  const moved = members.filter(({ isFolder }) => isFolder).map(({ name, folder }) => memberUrl(name, true, folder));
  const browser = new FolderBrowser(new Set(members.map(({ folder }) => folder)), new Set(moved), members.length);
  const asked = askAndRun(
    transferText(title, { count: members.length, name: nameInText(members[0]?.name ?? '') }),
    [browser.element],
    { label: transferText(here), kind: 'primary' },
    members,
    () => ({ command: kind, destination: decodeURIComponent(browser.chosen) }),
    'folder-choice',
  );
  browser.offer();
  const outcome = await asked;
  if (!outcome) return;
  if (outcome.done.length > 0) keepRecent(browser.chosen);
  if (kind === 'copy') await showOutcome(outcome, 'copied', undefined, folderLabel(browser.chosen));
  else await showMoved(outcome, browser.chosen);
}

/** Lets the user choose a folder, starting from the current one. */
class FolderBrowser {
  chosen: string;
  readonly element: HTMLElement;
  readonly #from: ReadonlySet<string>;
  readonly #moved: ReadonlySet<string>;
  readonly #isHere = make('span.hint', { id: 'is-here', hidden: true });
  readonly #place = make('p.place-here', { role: 'status' });
  readonly #problem = make('p.notice.error', { hidden: true, role: 'alert' });
  readonly #filter = make('input', { type: 'search', ariaLabel: text('filterHint'), placeholder: text('filter'), autocomplete: 'off' });
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
  #content: string[] = [];

  /**
   * @param from URL paths of the folders that contain the members. If there is only one such folder, it cannot be the destination
   * @param moved URL paths of the moved or copied folders. None of them can be the destination
   * @param count number of members
   */
  constructor(from: ReadonlySet<string>, moved: ReadonlySet<string>, count: number) {
    const [only = folderUrl()] = from.size === 1 ? from : [];
    this.chosen = only;
    this.#from = from;
    this.#moved = moved;
    this.#isHere.textContent = transferText('isHere', { count });
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
    void this.#browse(only);
  }

  /** Enables the button that chooses the shown folder. If the members are already there, disables the button and shows the reason. */
  offer(): void {
    const button = this.element.closest('dialog')?.querySelector<HTMLButtonElement>('button[value=ok]');
    this.#isHere.hidden = this.#from.size > 1 || !this.#from.has(this.chosen);
    if (!button) return;
    button.disabled = !this.#isHere.hidden;
    button.setAttribute('aria-describedby', button.disabled ? this.#isHere.id : '');
  }

  #onEnter(event: KeyboardEvent, action: () => void): void {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    action();
  }

  #isInside(url: string): boolean {
    return [...this.#moved].some((folder) => url.startsWith(folder));
  }

  #wayTo(label: string, icon: IconName, url: string): HTMLButtonElement {
    const button = makeButton(label, icon, () => void this.#browse(url), 'quiet');
    button.value = url;
    return button;
  }

  async #browse(url: string): Promise<void> {
    const content = await listMembers(url);
    // `inert` is set when the user presses "Move here". The command then uses the folder that is shown, so no other folder may appear.
    if (this.element.inert) return;
    this.#tell(typeof content === 'string' ? folderLabel(url) + text('colon') + content : undefined);
    if (typeof content === 'string') return;
    this.chosen = url;
    this.#place.replaceChildren(make('strong', folderLabel(url)), ' ', this.#isHere);
    this.offer();
    this.#filter.value = '';
    const folders = content.filter(({ is_directory: isFolder, name }) => isFolder && !this.#moved.has(memberUrl(name, true, url)));
    this.#content = folders.map(({ name }) => name).sort(naturally);
    this.#draw();
    this.#folders.querySelector('button')?.focus();
  }

  #draw(): void {
    const wanted = normalised(this.#filter.value.trim());
    const url = this.chosen;
    const items = this.#content
      .filter((name) => normalised(name).includes(wanted))
      .map((name) => this.#wayTo(displayName(name), 'files', memberUrl(name, true, url)));
    if (url !== '/home/' && wanted === '') {
      const parent = url.replace(/[^/]+\/$/, '');
      items.unshift(this.#wayTo(transferText('folderUp', { name: folderLabel(parent) }), 'up', parent));
    }
    this.#folders.replaceChildren(...items.map((item) => make('li', item)));
    // A recent folder is not offered if it is the current folder, one of its parents, or already in the list.
    const inSight = new Set([url, ...[...this.#folders.querySelectorAll('button')].map(({ value }) => value)]);
    for (const [folder, button] of this.#recent) button.hidden = inSight.has(folder);
    this.#lately.hidden = [...this.#recent.values()].every(({ hidden }) => hidden);
    if (items.length === 0) this.#folders.append(make('li.hint', wanted === '' ? transferText('noFolders') : text('noMatches')));
  }

  async #create(): Promise<void> {
    const name = this.#name.value.trim();
    const url = memberUrl(name, true, this.chosen);
    const problem = nameProblem(name) ?? (await trySend('PUT', url, { 409: text('nameTaken') }));
    this.#tell(problem);
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
    // If the browser stores nothing for pages, no recent folders are offered.
  }
}
