import { make } from '../../shared/dom.ts';
import { text } from '../language.ts';
import { heading, type Stage } from '../section.ts';
import { mayChange } from '../session.ts';
import { accountList } from './account-list.ts';
import { collectionPanel, collections } from './collections.ts';
import { authTestPanel, explainPanel } from './questions.ts';

/** Shows the accounts with their sessions, bans, locks, uploads and trash, and explains the rights of an account. */
export function showAccounts({ main, route: { query }, signal }: Stage): void {
  main.append(
    heading(text('accounts')),
    accountList(query.get('search') ?? '', signal),
    ...collections.map((collection) => collectionPanel(collection, signal)),
  );
  // Both panels use POST, which viewers must not send.
  if (mayChange()) main.append(make('div.pair', explainPanel(), authTestPanel()));
}
