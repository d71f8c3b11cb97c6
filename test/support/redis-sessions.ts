import type { Identity } from '../../src/auth/credentials.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLog } from '../../src/lib/log.ts';
import type { RedisLink } from '../../src/lib/redis/redis-link.ts';
import { RedisSessions } from '../../src/state/redis/sessions.ts';
import type { Ending } from './temp.ts';

/** Sessions that live for a minute without a request. */
export const longSessions = {
  lifetimes: () => ({ idleMs: 60_000, maximumAgeMs: 120_000 }),
  onTimeout: () => {},
  clock: systemClock,
  log: silentLog,
};

/** Who logged in to an account whose UUID is its name, with the first of the passwords that have these fingerprints. */
export function loginOf(name: string, fingerprints = ['first']): Identity {
  return { name, uuid: name, method: { uuid: 'm', type: 'application' }, proof: { type: 'password', fingerprints: [...fingerprints] } };
}

/** The sessions of a node, closed with the test. */
export function sessionsOn(t: Ending, link: RedisLink): RedisSessions {
  const sessions = new RedisSessions(link, 'web', longSessions);
  t.after(() => sessions.close());
  return sessions;
}
