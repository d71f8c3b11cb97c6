import type { SignedIn } from '../../config/report-shapes.ts';
import { byId, make } from '../shared/dom.ts';
import { text } from './language.ts';
import { ask, errorText, Refused } from './request.ts';
import { loadingLine } from './section.ts';
import { clear } from './shown.ts';

/** Returns the token of a one-time login link. The token is in the fragment, which is not sent to servers or proxies. */
export function loginToken(hash: string): string | undefined {
  return /^#token=(.+)$/.exec(hash)?.[1];
}

/** Shows the login form, or signs in with the token of the login link. */
export async function showLogin(main: HTMLElement, onSuccess: () => void): Promise<void> {
  main.className = '';
  document.title = `${text('signIn')} – svc console`;
  const token = loginToken(location.hash);
  let message: string | undefined;
  if (token !== undefined) {
    // The token works only once, so it is removed from the history.
    history.replaceState(null, '', location.pathname);
    message = await ask('POST', '/api/login/link', { body: { token } }).then(
      () => undefined,
      (error) => problemText(error, 'linkOver'),
    );
    if (message === undefined) {
      // Call `onSuccess` later, because until this function has returned, the page ignores the call.
      setTimeout(onSuccess);
      return;
    }
  }
  main.replaceChildren(form(message, onSuccess));
  main.querySelector<HTMLElement>(lastName === '' ? '#username' : '#password')?.focus();
}

function problemText(error: unknown, refusal: 'linkOver' | 'signInFailed'): string {
  if (!(error instanceof Refused)) return errorText(error);
  if (error.status === 401) return text(refusal);
  return error.status === 429 ? text('tooManyAttempts') : clear(error.message);
}

function form(message: string | undefined, onSuccess: () => void): HTMLElement {
  const problem = make('p.notice.error', { hidden: message === undefined, role: 'alert' }, message);
  const name = make('input', {
    id: 'username',
    value: lastName,
    autocomplete: 'username',
    required: true,
    autocapitalize: 'none',
    spellcheck: false,
  });
  const password = make('input', { id: 'password', type: 'password', autocomplete: 'current-password', required: true });
  const button = make('button.primary', text('signIn'));
  const element = make(
    'form',
    make('label', { htmlFor: 'username' }, text('userName')),
    name,
    make('label', { htmlFor: 'password' }, text('password')),
    password,
    button,
  );
  const ended = make(
    'p.notice',
    { hidden: message !== undefined || !(hasEnded || wasLost()) },
    text(wasLost() ? 'sessionLost' : 'sessionEnded'),
  );
  element.addEventListener('submit', async (event) => {
    event.preventDefault();
    button.disabled = true;
    button.textContent = text('signingIn');
    try {
      hasEnded = false;
      sessionStorage.removeItem(lostMark);
      ended.hidden = true;
      await ask('POST', '/api/login', { body: { username: name.value, password: password.value } });
      byId('main').replaceChildren(loadingLine());
      onSuccess();
    } catch (error) {
      problem.textContent = problemText(error, 'signInFailed');
      problem.hidden = false;
      password.value = '';
      password.focus();
    }
    button.disabled = false;
    button.textContent = text('signIn');
  });
  return make('div.card', make('h1', text('signInTitle')), ended, problem, element, make('p.hint', text('signInHint')));
}

let administrator: SignedIn | undefined;
/** Set to the name of the administrator while the server is unreachable. It survives the reload that follows. */
const lostMark = 'lost';

/** Name of the administrator whose session ended without a logout; otherwise empty. */
let lastName = sessionStorage.getItem(lostMark) ?? '';
/** Whether a session has ended without a logout. */
let hasEnded = false;

function wasLost(): boolean {
  return sessionStorage.getItem(lostMark) !== null;
}

/** Remembers that the server was unreachable, so that the login form can say why the session has ended. */
export function noteLoss(): void {
  if (administrator) sessionStorage.setItem(lostMark, administrator.name);
}

export function mayChange(): boolean {
  return administrator?.role === 'operator';
}

/** Returns whether the administrator may download held uploads and decide about them. */
export function mayReview(): boolean {
  return administrator?.role === 'operator' || administrator?.role === 'reviewer';
}

/** Asks who is signed in. @returns undefined if nobody is */
export async function findSession(): Promise<SignedIn | undefined> {
  try {
    administrator = await ask<SignedIn>('GET', '/api/me');
    lastName = administrator.name;
    sessionStorage.removeItem(lostMark);
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 401) throw error;
    hasEnded ||= administrator !== undefined;
    administrator = undefined;
  }
  return administrator;
}

export async function signOut(): Promise<void> {
  await ask('POST', '/api/logout');
  lastName = '';
  administrator = undefined;
  sessionStorage.removeItem(lostMark);
}
