import { timeAfter } from '../shared/dates.ts';
import { ask, cancelButton } from '../shared/dialogs.ts';
import { make } from '../shared/dom.ts';
import { text } from './language.ts';

let underWay: Promise<boolean> | undefined;
let signIns = 0;

/** Returns how many times the user has signed in on this page. A request notes the number when it begins. */
export function signInCount(): number {
  return signIns;
}

/**
 * Asks for the password after the session has ended. Concurrent calls share one dialog. If the user has signed in since the refused
 * request began, the request need only be repeated, because it had the old cookie.
 *
 * @param before value of `signInCount()` when the request began
 * @returns whether the user is signed in again
 */
export function signInAgain(before: number): Promise<boolean> {
  if (before !== signIns) return Promise.resolve(true);
  // When the page of a share link is reloaded, it asks for the password of the link.
  if (location.pathname.startsWith('/__svc__/')) {
    location.reload();
    return Promise.resolve(false);
  }
  underWay ??= showForm().finally(() => {
    underWay = undefined;
  });
  return underWay;
}

async function showForm(): Promise<boolean> {
  const userName = make('input', { name: 'username', autocomplete: 'username', required: true, value: currentUserName() });
  const password = make('input', { name: 'password', type: 'password', autocomplete: 'current-password', required: true });
  const answer = await ask({
    title: text('signIn'),
    content: [
      make('p', text('sessionOver')),
      make('label.labelled', text('userName'), userName),
      make('label.labelled', text('password'), password),
    ],
    buttons: [cancelButton(), { value: 'ok', label: text('signIn'), kind: 'primary' }],
    focus: password,
    stays: true,
    check: () => login(userName.value, password.value),
  });
  return answer === 'ok';
}

/** Returns the name of the account to which the page belongs; empty if there is none. */
export function currentUserName(): string {
  return document.querySelector('.who')?.textContent ?? '';
}

// A login from a page sets the cookie and redirects. The redirect is not followed, because it only shows that the login succeeded.
async function login(username: string, password: string): Promise<string | undefined> {
  try {
    const reply = await fetch('/__svc__/login', {
      method: 'POST',
      headers: { accept: 'text/html' },
      body: new URLSearchParams({ username, password }),
      redirect: 'manual',
    });
    if (reply.type === 'opaqueredirect') {
      signIns++;
      return undefined;
    }
    if (reply.status !== 429) return text('signInFailed');
    const waitSeconds = Number(reply.headers.get('retry-after') ?? 0);
    return waitSeconds > 0 ? text('tooManyUntil', { time: timeAfter(waitSeconds) }) : text('tooManyAttempts');
  } catch {
    return text('noConnection');
  }
}

/** Name of the cache of thumbnails. */
export const thumbnailCache = 'svc-thumbnails';

/** Deletes all thumbnails, so that the next user of the browser cannot see them. */
export async function forgetThumbnails(): Promise<void> {
  if ('caches' in window) await caches.delete(thumbnailCache);
}
