import type { AccountView } from '../../../console/api/schemas/accounts.ts';
import { make } from '../../shared/dom.ts';
import { sizeText } from '../../shared/locale.ts';
import { text, translate } from '../language.ts';
import { ask } from '../request.ts';
import { hashFor } from '../route.ts';
import { facts, heading, panel, type Stage, wayTo } from '../section.ts';
import { clear, datum, timeElement } from '../shown.ts';
import { accountState, quotaText, sessionsText } from './account-list.ts';
import { showPanels } from './accounts.ts';
import { collectionPanel, collections } from './collections.ts';

/** Shows an account with its sessions, locks, uploads and trash, and with limits on its login name. */
export async function showAccount({ main, route: { id }, signal }: Stage): Promise<void> {
  const account = await ask<AccountView>('GET', `/api/accounts/${encodeURIComponent(id)}`, { signal });
  const { name, source, method, problem, group, home, quota_bytes, used_bytes, last_login, sessions } = account;
  main.append(
    wayTo('accounts'),
    heading(
      clear(name),
      accountState(account),
      make('a.button.quiet', { href: hashFor('events', '', { account: name }) }, text('accountEvents')),
    ),
    ...(problem === '' ? [] : [make('p.notice.error', clear(problem))]),
    panel(
      text('summary'),
      facts(
        [text('knownFrom'), translate('known', source)],
        [text('method'), datum(method)],
        [text('group'), datum(group)],
        [text('home'), datum(home, 'code')],
        [text('quota'), quota_bytes !== null && quotaText(account)],
        [text('quotaFree'), quota_bytes !== null && used_bytes !== null && sizeText(Math.max(quota_bytes - used_bytes, 0))],
        [text('lastLogin'), timeElement(last_login?.time)],
        [text('address'), last_login ? datum(last_login.address) : undefined],
        [text('service'), last_login ? datum(last_login.service) : undefined],
        [text('sessions_title'), sessions.length > 0 && sessionsText(account)],
      ),
    ),
  );
  showPanels(
    main,
    collections.map((collection) => collectionPanel(collection, signal, name)),
    signal,
  );
}
