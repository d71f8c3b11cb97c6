import { type Account, effectiveAccount } from '../../src/accounts/account.ts';
import { groupOptions } from '../../src/accounts/options.ts';
import { RedisSessions } from '../../src/auth/sessions-redis.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLog } from '../../src/lib/log.ts';
import type { RedisLink } from '../../src/lib/redis/redis-link.ts';
import type { Ending } from './temp.ts';

/** Sessions that live for a minute without a request. */
export const longSessions = {
  lifetimes: () => ({ idleMs: 60_000, maximumAgeMs: 120_000 }),
  onTimeout: () => {},
  clock: systemClock,
  log: silentLog,
};

/** An account whose UUID is its name. */
export function accountNamed(name: string): Account {
  const group = groupOptions.parse({ home_folder_path: '/srv' });
  return effectiveAccount(name, {}, new Map([['DEFAULT_GROUP', group]]), { uuid: 'm', type: 'application' });
}

/** The sessions of a node, closed with the test. */
export function sessionsOn(t: Ending, link: RedisLink): RedisSessions {
  const sessions = new RedisSessions(link, 'web', longSessions);
  t.after(() => sessions.close());
  return sessions;
}
