import { byId, make } from './dom.ts';

/** Shows a message above the listing and has screen readers say it. The one before goes away. */
export function notice(message: string, kind: 'success' | 'error' = 'success'): void {
  byId('notices').replaceChildren(make('p', { className: `notice ${kind}` }, message));
}
