import { byId } from '../shared/dom.ts';
import { startMenu } from '../shared/menu.ts';
import { loadPart } from '../shared/parts.ts';
import { startThemes } from '../shared/theme.ts';
import { showLogin, tokenOf } from './login.ts';
import { markSection, showNavigation } from './navigation.ts';
import { showOverview } from './overview/overview.ts';
import { routeOf, type SectionName } from './route.ts';
import { isAbort, problem, type Stage, tell } from './section.ts';
import { findSession, signOut } from './session.ts';

type Show = (stage: Stage) => Promise<void> | void;

/** The sections but the first one are parts of the script, fetched by who opens them. */
const sections: Record<SectionName, (id: string) => Promise<Show | undefined>> = {
  overview: async () => showOverview,
  events: async (id) =>
    id === ''
      ? (await loadPart(() => import('./events/events.ts')))?.showEvents
      : (await loadPart(() => import('./events/event-page.ts')))?.showEvent,
  deliveries: async (id) => {
    if (id === '') return (await loadPart(() => import('./deliveries/deliveries.ts')))?.showDeliveries;
    if (id.startsWith('replays/')) return (await loadPart(() => import('./deliveries/replay-page.ts')))?.showReplay;
    return (await loadPart(() => import('./deliveries/delivery-page.ts')))?.showDelivery;
  },
  handlers: async () => (await loadPart(() => import('./handlers/handlers.ts')))?.showHandlers,
  accounts: async () => (await loadPart(() => import('./accounts/accounts.ts')))?.showAccounts,
  configuration: async () => (await loadPart(() => import('./configuration/configuration.ts')))?.showConfiguration,
};

/** Shows what the URL names in place of what was shown before. */
async function showSection(stage: Stage): Promise<void> {
  const { main, route, signal } = stage;
  try {
    const show = await sections[route.section](route.id);
    if (signal.aborted || !show) return;
    main.className = route.section;
    main.replaceChildren();
    await show(stage);
  } catch (error) {
    if (!signal.aborted && !isAbort(error)) main.append(problem(error));
  }
}

/** Has a choice of the language kept in its cookie, and the page made anew in it. */
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

startThemes();
startLanguages();
startMenu();
byId('sign-out').addEventListener('click', () => void tell(signOut().then(start)));
document.addEventListener('signedout', () => void start());
addEventListener('hashchange', () => void (tokenOf(location.hash) === undefined ? show(true) : start()));
void start();

let starting: Promise<void> | undefined;

/** Shows what the URL names to whoever has signed in, and the login to all others. */
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
    const administrator = tokenOf(location.hash) === undefined ? await findSession() : undefined;
    showNavigation(administrator);
    if (administrator) await show(false);
    else await showLogin(main, () => void start());
  } catch (error) {
    main.replaceChildren(problem(error));
  }
}

/** @param isMove whether the reader went there, and the focus with it */
async function show(isMove: boolean): Promise<void> {
  if (byId('sections').hidden) return;
  shown.abort();
  shown = new AbortController();
  const route = routeOf(location.hash);
  markSection(route.section);
  const main = byId('main');
  if (isMove) {
    main.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
  await showSection({ main, route, signal: shown.signal });
}
