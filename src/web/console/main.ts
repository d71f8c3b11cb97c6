import type { SignedIn } from '../../config/report-shapes.ts';
import type { Overview } from '../../console/api/schemas/overview.ts';
import { iconShapes } from '../../lib/icon-shapes.ts';
import { byId, drawnIcon, icon, make } from '../shared/dom.ts';
import { startMenu, startThemes } from '../shared/menu.ts';
import { findEventKinds } from './event-kinds.ts';
import { text } from './language.ts';
import { listen, pauseMs } from './live.ts';
import { showOverview } from './overview/overview.ts';
import { ask, Refused, withQuery } from './request.ts';
import { hashFor, parseRoute, type Route, type SectionName, sectionNames } from './route.ts';
import { heading, isAbort, loadingLine, problem, type Stage, showCount, showFrame, showLive, tell, wayTo } from './section.ts';
import { findSession, loginToken, noteLoss, showLogin, signOut } from './session.ts';
import { clear } from './shown.ts';

/** Icons of the sections as paths on a grid of 24 units, like the other icons. */
const shapes: Record<SectionName, string> = {
  overview: 'M4 4h7v8H4zm9 0h7v5h-7zM4 15h7v5H4zm9-3h7v8h-7z',
  events: 'M4 6h.01M8 6h12M4 12h.01M8 12h12M4 18h.01M8 18h12',
  deliveries: 'M20.5 3.5 10 14m10.5-10.5L14 20.5 10 14l-6.5-4z',
  handlers:
    'M12 3v6m0 0a3 3 0 1 1 0 6 3 3 0 0 1 0-6zm-2.6 4.5L4.5 17m10.1-3.5 4.9 3.5M4.5 17a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3zm15 0a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3z',
  accounts: 'M9 5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM2.5 19.5a6.5 6.5 0 0 1 13 0M16 5.5a3.5 3.5 0 0 1 0 6.5m2.5 2.5a6.5 6.5 0 0 1 3 5',
  held: 'M12 3.5 5 6v5.5c0 4.5 3 7.5 7 9 4-1.5 7-4.5 7-9V6zM9.5 9.5v5m5-5v5',
  expectations: iconShapes.due,
  configuration: 'M4 7h9m5 0h2M4 17h2m5 0h9M15.5 4.5v5m-7 5v5',
};

/** Shows the links to the sections and the name of the administrator; hides them before a login. */
function showNavigation(administrator: SignedIn | undefined): void {
  const navigation = byId('sections');
  navigation.hidden = administrator === undefined;
  navigation.ariaLabel = text('sections');
  byId('section').title = text('sections');
  document.body.classList.toggle('signed-in', administrator !== undefined);
  byId('sign-out').hidden = administrator === undefined;
  const skip = document.querySelector<HTMLAnchorElement>('a.skip');
  if (skip) {
    skip.hidden = administrator === undefined;
    skip.textContent = text('skip');
    skip.onclick = (event) => {
      event.preventDefault();
      byId('main').focus();
    };
  }
  navigation.replaceChildren(
    ...(administrator ? sectionNames : []).map((name) =>
      make(
        'a',
        { href: hashFor(name), attributes: { 'data-section': name } },
        drawnIcon(shapes[name]),
        make('span', text(name)),
        ...(name === 'held' || name === 'expectations' ? [' ', make('span.count')] : []),
      ),
    ),
  );
  byId('me').replaceChildren(
    ...(administrator
      ? [
          make('span.hidden', `${text('administrator')} `),
          make('span.who', make('bdi', clear(administrator.name))),
          make('span.badge.calm', text(administrator.role)),
        ]
      : [icon('globe'), make('span.hidden', text('settings'))]),
  );
}

function markSection({ section, id, query }: Route): void {
  const isKnown = (section !== 'overview' || id === '') && hasKnownNames(section, query);
  const navigation = byId('sections');
  for (const link of navigation.querySelectorAll('a')) {
    const isShown = isKnown && link.dataset.section === section;
    link.ariaCurrent = isShown ? 'page' : null;
  }
  byId('section-name').textContent = text(isKnown ? section : 'sections');
  document.title = `${text(isKnown ? section : 'missing')} – svc console`;
}

/** On phones, which have no room for all sections beside each other, the sections are a menu. */
const phone = matchMedia('(max-width: 44rem)');
function foldSections(): void {
  byId('sections').popover = phone.matches ? 'auto' : null;
}
phone.addEventListener('change', foldSections);
foldSections();

/** The names that the query of a search may have. */
const searchNames: Partial<Record<SectionName, string>> = {
  events: 'id not_id account path address status group request_id component message text since until last routine at',
  deliveries: 'handler outcome kind event_id account since until last',
};

function hasKnownNames(section: SectionName, query: URLSearchParams): boolean {
  const known = searchNames[section]?.split(' ');
  return !known || [...query.keys()].every((name) => known.includes(name));
}

type Show = (stage: Stage) => Promise<void> | void;

/** Functions that load the code of each section when it is opened. Only the code of the overview is already loaded. */
const sections: Record<SectionName, (id: string) => Promise<Show>> = {
  overview: async (id) => (id === '' ? showOverview : showMissing),
  events: async (id) => (id === '' ? (await import('./events/events.ts')).showEvents : (await import('./events/event-page.ts')).showEvent),
  deliveries: async (id) => {
    if (id === '') return (await import('./deliveries/deliveries.ts')).showDeliveries;
    if (id.startsWith('replays/')) return (await import('./deliveries/replay-page.ts')).showReplay;
    return (await import('./deliveries/delivery-page.ts')).showDelivery;
  },
  handlers: async () => (await import('./handlers/handlers.ts')).showHandlers,
  accounts: async (id) =>
    id === '' ? (await import('./accounts/accounts.ts')).showAccounts : (await import('./accounts/accounts.ts')).showAccount,
  held: async () => (await import('./held/held.ts')).showHeld,
  expectations: async (id) =>
    id === '' ? (await import('./expectations/board.ts')).showBoard : (await import('./expectations/expectation-page.ts')).showExpectation,
  configuration: async () => (await import('./configuration/configuration.ts')).showConfiguration,
};

/**
 * Builds what every section shows until it has its data: its title, and a line. The section replaces both; an error replaces the line. The
 * name of an item is known if a link in the list led to it.
 */
function opening({ section, id }: Route): HTMLElement[] {
  const isNamed = id !== '' && (section === 'accounts' || section === 'expectations');
  const followed = [...byId('main').querySelectorAll<HTMLAnchorElement>('td a')].find(({ hash }) => hash === location.hash);
  const title = heading(isNamed ? (followed?.textContent ?? clear(id)) : text(section));
  return [...(id === '' ? [] : [wayTo(section)]), title, loadingLine()];
}

async function showSection(stage: Stage): Promise<void> {
  const { main, route, signal } = stage;
  main.className = route.section;
  main.replaceChildren(...opening(route));
  try {
    const [show] = await Promise.all([sections[route.section](route.id).catch(() => undefined), findEventKinds()]);
    if (signal.aborted) return;
    if (!show) throw new Refused(0, text('partMissing'));
    if (hasKnownNames(route.section, route.query)) await show(stage);
    else showMissing(stage);
  } catch (error) {
    if (signal.aborted || isAbort(error)) return;
    for (const line of main.querySelectorAll('.loading')) line.remove();
    if (error instanceof Refused && error.status === 404 && route.id !== '') {
      showMissing(stage, error.message);
      return;
    }
    main.append(problem(error));
    isIncomplete = true;
    void findServer();
  }
}

/** Shows that there is nothing at an address, with links to other pages. @param reason the message of the API */
function showMissing({ main, route: { section } }: Stage, reason = ''): void {
  const link = (name: SectionName) => make('a.button', { href: hashFor(name) }, text(name));
  const links = [...new Set([section, 'overview'] as const)].map(link);
  main.replaceChildren(
    heading(text('missing')),
    make('p', reason === '' ? text('missingPage') : clear(reason.replace(/\w$/u, '$&.'))),
    make('div.row', ...links),
  );
}

function startLanguages(): void {
  document.querySelector('form.language')?.addEventListener('submit', (event) => {
    event.preventDefault();
    const chosen = (event as SubmitEvent).submitter as HTMLButtonElement | null;
    if (!chosen) return;
    // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing in browsers that the page supports
    document.cookie = `SVC_LANGUAGE=${chosen.value}; Path=/; SameSite=strict; Max-Age=31536000`;
    location.reload();
  });
}

let shown = new AbortController();
let isIncomplete = false;
let isSeeking = false;
/** Why nothing can be loaded now, as a sentence. */
let lostReason = '';
const lostLine = make('p.lost', { role: 'alert' });

/** Replaces what the line about the unreachable server says, too. Nothing else may ask for a reload while the console keeps trying. */
function dropRepeated(): void {
  const repeated = [text('partMissing'), lostReason];
  const main = byId('main');
  for (const line of main.querySelectorAll('.notice.error')) {
    if (line.closest('.answer') || !repeated.includes(line.textContent ?? '')) continue;
    const isMore = line.closest('.more') !== null;
    line.replaceWith(...(isMore ? [] : [loadingLine()]));
    isIncomplete ||= !isMore;
  }
  for (const line of main.querySelectorAll('.loading')) line.textContent = text('notLoaded');
}

/** Shows a message while the server is unreachable, or answers only with errors. Afterwards, reloads the page if a section could not be loaded. */
async function findServer(): Promise<void> {
  if (lostLine.isConnected) dropRepeated();
  if (isSeeking) return;
  isSeeking = true;
  const isThere = () =>
    ask('GET', '/api/me', { signal: AbortSignal.timeout(3 * pauseMs) }).then(
      () => true,
      (error: unknown) => {
        const status = error instanceof Refused ? error.status : 0;
        lostReason = status === 0 ? text('noConnection') : text('serverError', { status: String(status) });
        return status > 0 && status < 500;
      },
    );
  while (!(await isThere())) {
    const told = `${lostReason} ${text('keepsTrying')}`;
    // Write only changed text, because screen readers announce each change.
    if (lostLine.textContent !== told) lostLine.textContent = told;
    if (!lostLine.isConnected) byId('main').parentElement?.before(lostLine);
    noteLoss();
    dropRepeated();
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  isSeeking = false;
  // After a script could not be loaded, the browser requests it again only when the page is reloaded.
  if (lostLine.isConnected && isIncomplete) location.reload();
  lostLine.remove();
}

// The server also answers unknown paths with this page. Such a path becomes the fragment, and the page says that nothing is there.
if (location.pathname !== '/') history.replaceState(null, '', `/#${location.pathname}`);
startThemes();
startLanguages();
startMenu();
startMenu('sections');
byId('sign-out').addEventListener('click', () => void tell(signOut().then(start)));
document.addEventListener('signedout', () => void start());
document.addEventListener('lost', () => void findServer());
byId('sections').addEventListener('click', ({ target }) => {
  if (target instanceof Element && target.closest('a')?.hash === location.hash) void show('');
});
addEventListener('keydown', (event) => {
  const { key, ctrlKey, metaKey, altKey, target } = event;
  // In a field or a dialog, the key is a character.
  const isTyped = target instanceof Element && target.closest('input:not([type=checkbox]), select, textarea, dialog');
  if (key !== '/' || ctrlKey || metaKey || altKey || isTyped) return;
  const field = byId('main').querySelector<HTMLElement>('[type=search], #event-query, .filter [name]');
  if (!field) return;
  event.preventDefault();
  field.closest('details')?.setAttribute('open', '');
  field.focus();
});
addEventListener(
  'hashchange',
  ({ oldURL }) => void (loginToken(location.hash) === undefined ? show(oldURL.replace(/^[^#]*/, '')) : start()),
);
// The browser would scroll before the rows are loaded. So this script scrolls, to the position that each entry of the history has as state.
history.scrollRestoration = 'manual';
let scrolling = 0;
addEventListener('scroll', () => {
  clearTimeout(scrolling);
  scrolling = window.setTimeout(() => history.replaceState(scrollY, ''), 100);
});
void start();

let starting: Promise<void> | undefined;

function start(): Promise<void> {
  starting ??= begin().finally(() => {
    starting = undefined;
  });
  return starting;
}

async function begin(): Promise<void> {
  shown.abort();
  const main = byId('main');
  try {
    const administrator = loginToken(location.hash) === undefined ? await findSession() : undefined;
    showNavigation(administrator);
    if (administrator) await show();
    else {
      leaveView();
      await showLogin(main, () => void start());
    }
  } catch (error) {
    main.replaceChildren(problem(error));
    isIncomplete = true;
  }
}

/** Events after which other uploads are held: held, released, ended. */
const heldEvents = '40072,40073,40074';

/** Pause in milliseconds after an event. Several uploads are often decided about at once. */
const collectMs = 200;

/** Keeps the numbers in the frame right while others decide about uploads. The overview has a stream of its own for this. */
function followFrame(signal: AbortSignal): void {
  let timer = 0;
  const read = (show: (overview: Overview) => void) => ask<Overview>('GET', '/api/overview', { signal }).then(show, () => {});
  const readLater = (afterMs = collectMs) => {
    clearTimeout(timer);
    timer = window.setTimeout(() => {
      document.dispatchEvent(new Event('heldchange'));
      void read(({ held_uploads }) => showCount('held', held_uploads ?? 0));
    }, afterMs);
  };
  let run = new AbortController();
  // Browsers open few connections to a server, so a page that nobody sees has no stream.
  const follow = () => {
    run.abort();
    run = new AbortController();
    if (document.hidden) return;
    listen(withQuery('/api/events/live', { id: heldEvents }), AbortSignal.any([signal, run.signal]), {
      messages: { message: () => readLater() },
      // Before the stream is open, others could decide unnoticed.
      onState: (isOpen) => {
        showLive(isOpen);
        if (isOpen) readLater(0);
      },
    });
  };
  void read(showFrame);
  follow();
  document.addEventListener('visibilitychange', follow, { signal });
  signal.addEventListener('abort', () => clearTimeout(timer));
}

function leaveView(): void {
  shown.abort();
  clearTimeout(scrolling);
  document.dispatchEvent(new Event('viewchange'));
  if (byId('sections').popover) byId('sections').hidePopover();
  byId('notices').replaceChildren();
}

/**
 * Shows the section of the URL.
 *
 * @param from fragment of the view that the administrator left. If there is one, the focus moves to the section
 */
async function show(from?: string): Promise<void> {
  if (byId('sections').hidden) return;
  leaveView();
  shown = new AbortController();
  isIncomplete = false;
  const route = parseRoute(location.hash);
  markSection(route);
  const main = byId('main');
  if (route.section !== 'overview') followFrame(shown.signal);
  const top: number | null = from === '' ? null : history.state;
  history.replaceState(top ?? 0, '');
  if (from !== undefined) {
    main.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
  if (top !== null) void import('./more.ts').then(({ returnTo }) => returnTo(main, top, from, shown.signal));
  await showSection({ main, route, signal: shown.signal });
}
