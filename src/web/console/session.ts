import { ask, Refused } from './request.ts';

/** Who has signed in. */
interface Administrator {
  name: string;
  role: 'viewer' | 'operator';
}

let administrator: Administrator | undefined;

/** Whether the administrator may change something. */
export function mayChange(): boolean {
  return administrator?.role === 'operator';
}

/** Asks who has signed in. @returns undefined for nobody */
export async function findSession(): Promise<Administrator | undefined> {
  try {
    administrator = await ask<Administrator>('GET', '/api/me');
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
