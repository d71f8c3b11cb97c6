import type { SignedIn } from '../../config/report-shapes.ts';
import { ask, Refused } from './request.ts';

let administrator: SignedIn | undefined;

/** Whether the administrator may change something. */
export function mayChange(): boolean {
  return administrator?.role === 'operator';
}

/** Asks who has signed in. @returns undefined for nobody */
export async function findSession(): Promise<SignedIn | undefined> {
  try {
    administrator = await ask<SignedIn>('GET', '/api/me');
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 401) throw error;
    administrator = undefined;
  }
  return administrator;
}

/** Signs in by name and password. @throws Refused */
export async function signIn(username: string, password: string): Promise<void> {
  await ask('POST', '/api/login', { body: { username, password } });
}

/** Signs in by the token of a link that works once. @throws Refused */
export async function signInByLink(token: string): Promise<void> {
  await ask('POST', '/api/login/link', { body: { token } });
}

/** Ends the session. */
export async function signOut(): Promise<void> {
  await ask('POST', '/api/logout');
  administrator = undefined;
}
