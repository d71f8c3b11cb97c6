import { byId } from '../shared/dom.ts';
import { startMenu } from '../shared/menu.ts';
import { startThemes } from '../shared/theme.ts';
import { startLanguages } from './language-choice.ts';
import { showLogin, tokenOf } from './login.ts';
import { markSection, showNavigation } from './navigation.ts';
import { routeOf } from './route.ts';
import { problem, tell } from './section.ts';
import { showSection } from './sections.ts';
import { findSession, signOut } from './session.ts';

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
