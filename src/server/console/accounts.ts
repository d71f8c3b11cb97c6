import { type AccountConfiguration, AccountError, defaultGroupUuid, effectiveAccount, type LocalAccount } from '../../accounts/account.ts';
import { ApplicationMethod } from '../../auth/application.ts';
import type { ListedSession } from '../../auth/sessions.ts';
import type { AccountPage, AccountView } from '../../console/api/schemas/accounts.ts';
import type { AccountSource, AccountsWanted } from '../../console/sources.ts';
import type { LastLogin, LastLogins } from '../../events/journal/search/last-logins.ts';
import { resolveMounts } from '../../files/mounts.ts';
import type { Clock } from '../../lib/clock.ts';
import { forEachConcurrently } from '../../lib/concurrency/event-loop.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { ServerView } from '../monitor-sources.ts';
import type { RequestParts } from '../parts.ts';

/**
 * Maximum times, in milliseconds, that a request waits for the journal and for the sizes of files. The work then continues without the
 * request. `countsAtOnce` is the maximum number of accounts whose files are added up at the same time.
 */
const journalWithinMs = 1000;
const countWithinMs = 1500;
const countsAtOnce = 4;

type MethodName = { readonly uuid: string; readonly type: string };

interface Known {
  local: { account: LocalAccount; method: MethodName; isConfigured: boolean } | undefined;
  login: LastLogin | undefined;
  sessions: readonly ServiceSession[];
}

type ServiceSession = ListedSession & { service: string };

/** The sorted names of all accounts. They are kept until an account is added or removed. */
interface Names {
  sources: readonly unknown[];
  sorted: readonly string[];
}

/**
 * Lists the accounts of the configuration and of accounts files. It also lists the accounts that an authentication endpoint accepted, as
 * far as sessions and the journal name them.
 */
export function accountSource(view: () => ServerView, logins: LastLogins, clock: Clock): AccountSource {
  let names: Names = { sources: [], sorted: [] };

  const allNames = (parts: RequestParts, sessions: ReadonlyMap<string, unknown>): readonly string[] => {
    const files = applicationMethods(parts).map(({ accounts }) => accounts.all());
    const others = [...sessions.keys()].filter((name) => !logins.logins.has(name)).sort();
    const sources = [...files, logins.version, others.join('\0')];
    if (sources.length !== names.sources.length || sources.some((source, index) => source !== names.sources[index])) {
      const all = new Set<string>([...files.flatMap((accounts) => [...accounts.keys()]), ...logins.logins.keys(), ...others]);
      names = { sources, sorted: [...all].sort() };
    }
    return names.sorted;
  };

  const shown = async (wanted: readonly string[], parts: RequestParts, sessions: ReadonlyMap<string, ServiceSession[]>) => {
    const views = wanted.map((name) =>
      describeAccount(
        name,
        { local: localAccount(parts, name), login: logins.logins.get(name), sessions: sessions.get(name) ?? [] },
        parts,
      ),
    );
    await countUsed(view, views, clock);
    return views.map(({ shown: account }) => account);
  };

  return {
    async list({ search, group, after, limit }: AccountsWanted): Promise<AccountPage> {
      const [sessions] = await Promise.all([sessionsByAccount(view), logins.refresh(journalWithinMs)]);
      const { parts } = view();
      const part = search.toLowerCase();
      const found = allNames(parts, sessions).filter(
        (name) =>
          name.toLowerCase().includes(part) &&
          (group === undefined || accountGroup(localAccount(parts, name), logins.logins.get(name)) === group),
      );
      const first = after === undefined ? 0 : found.findIndex((name) => name > after);
      const page = first < 0 ? [] : found.slice(first, first + limit);
      const hasMore = first >= 0 && first + limit < found.length;
      return {
        items: await shown(page, parts, sessions),
        total: found.length,
        next: hasMore ? (page.at(-1) ?? null) : null,
        logins_since: logins.sinceMs === undefined ? null : isoTime(logins.sinceMs),
        logins_complete: logins.isComplete,
      };
    },
    async find(name): Promise<AccountView> {
      const [sessions] = await Promise.all([sessionsByAccount(view), logins.refresh(journalWithinMs)]);
      const { parts } = view();
      const isKnown = localAccount(parts, name) ?? logins.logins.get(name) ?? sessions.get(name);
      const [account] = isKnown ? await shown([name], parts, sessions) : [];
      if (!account) throw new ServiceError('not-found', 'No account of this name is known.');
      return account;
    },
  };
}

function applicationMethods({ methods }: RequestParts): ApplicationMethod[] {
  return [...methods.values()].filter((method) => method instanceof ApplicationMethod);
}

/** Returns the account of this name from the first method that stores one. The anonymous account is not stored. */
function localAccount(parts: RequestParts, name: string): Known['local'] {
  for (const method of applicationMethods(parts)) {
    const account = method.accounts.find(name);
    if (account) return { account, method, isConfigured: Object.hasOwn(parts.config.accounts, name) };
  }
  return undefined;
}

function accountGroup(local: Known['local'], login: LastLogin | undefined): string {
  return local ? local.account.configuration.group || defaultGroupUuid : (login?.group ?? '');
}

async function sessionsByAccount(view: () => ServerView): Promise<Map<string, ServiceSession[]>> {
  const byAccount = new Map<string, ServiceSession[]>();
  for (const [service, store] of view().listeners.sessions())
    for (const session of await store.list()) {
      const own = byAccount.get(session.identity.name);
      if (own) own.push({ ...session, service });
      else byAccount.set(session.identity.name, [{ ...session, service }]);
    }
  return byAccount;
}

function describeAccount(name: string, { local, login, sessions }: Known, parts: RequestParts) {
  const identity = sessions.findLast((session) => session.identity.configuration !== undefined)?.identity;
  const method = local?.method ?? identity?.method ?? { uuid: login?.method ?? '', type: '' };
  const configuration: AccountConfiguration | undefined = local?.account.configuration ?? identity?.configuration;
  const groupUuid = configuration ? configuration.group || defaultGroupUuid : accountGroup(local, login);
  const group = parts.groups.get(groupUuid);
  const { account, problem } = configuration ? joined(name, configuration, parts, method) : {};
  const quota = account?.quotaSizeBytes ?? group?.quota_size ?? 0;
  const shown: AccountView = {
    name,
    source: !local ? 'login' : local.isConfigured ? 'configuration' : 'accounts_file',
    method: method.uuid,
    enabled: (local?.account.enabled ?? true) && (group?.enabled ?? true),
    problem: problem ?? '',
    group: groupUuid,
    group_name: parts.config.groups[groupUuid]?.name ?? '',
    home: account?.homeFolderPath ?? '',
    quota_bytes: quota || null,
    used_bytes: null,
    last_login: login ? { time: isoTime(login.timeMs), address: login.address, service: login.service, method: login.method } : null,
    sessions: byService(sessions),
  };
  return { shown, account };
}

function joined(name: string, configuration: AccountConfiguration, { groups }: RequestParts, method: MethodName) {
  try {
    return { account: effectiveAccount(name, configuration, groups, method) };
  } catch (error) {
    if (!(error instanceof AccountError)) throw error;
    // The member `enabled` already says that the group is disabled.
    return { problem: error.problem === 'group-disabled' ? '' : error.message };
  }
}

function byService(sessions: readonly ServiceSession[]): AccountView['sessions'] {
  const services = new Map<string, { count: number; lastUsedMs: number }>();
  for (const { service, lastUsedMs } of sessions) {
    const known = services.get(service);
    services.set(service, { count: (known?.count ?? 0) + 1, lastUsedMs: Math.max(known?.lastUsedMs ?? 0, lastUsedMs) });
  }
  return [...services].map(([service, { count, lastUsedMs }]) => ({ service, count, last_used: isoTime(lastUsedMs) }));
}

/**
 * Adds up the sizes of the files of accounts with a quota, as far as time allows. A sum that takes longer is available to the next
 * request.
 */
async function countUsed(view: () => ServerView, views: readonly ReturnType<typeof describeAccount>[], clock: Clock): Promise<void> {
  const { quotas, excludedPaths, log } = view().core.files;
  const endMs = clock.monotonicMs() + countWithinMs;
  const counting = forEachConcurrently(views, countsAtOnce, async ({ shown, account }) => {
    if (!account || shown.quota_bytes === null || clock.monotonicMs() >= endMs) return;
    try {
      shown.used_bytes = await quotas.usage(resolveMounts(account, excludedPaths).accountRoots).usedBytes();
    } catch (reason) {
      log.warn('the files of an account could not be counted', { account: shown.name, reason });
    }
  });
  await Promise.race([counting, clock.sleep(countWithinMs)]);
}

function isoTime(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
