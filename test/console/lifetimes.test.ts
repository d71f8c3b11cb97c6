import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PasswordVerifier } from '../../src/accounts/passwords.ts';
import { Administrators } from '../../src/console/login/administrators.ts';
import { AdministratorSessions, LoginLinks, linkLifetimeMs, maxSessionsPerAdministrator } from '../../src/console/login/sessions.ts';
import { overviewForDeafReaders } from '../support/deaf-readers.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { cheapHash } from '../support/passwords.ts';

async function administrators() {
  return new Administrators({ olga: { password: await cheapHash('x'), role: 'operator' } }, new PasswordVerifier());
}

test('a login link is valid for five minutes; of 17 login links the oldest is no longer valid', () => {
  const clock = new ManualClock();
  const links = new LoginLinks(clock);
  const [late, early] = [links.issue('olga'), links.issue('olga')];
  clock.advance(linkLifetimeMs - 1);
  assert.equal(links.redeem(early), 'olga');
  clock.advance(1);
  assert.equal(links.redeem(late), undefined);
  const many = Array.from({ length: 17 }, () => links.issue('olga'));
  assert.deepEqual([links.redeem(many[0] as string), links.redeem(many[16] as string)], [undefined, 'olga']);
});

test('sessions end when they are unused, too old, or too many', async () => {
  const clock = new ManualClock();
  const olga = (await administrators()).named('olga');
  assert.ok(olga);
  let ended = 0;
  const sessions = new AdministratorSessions(
    clock,
    () => ({ idleMs: 1000, maximumAgeMs: 5000 }),
    () => ended++,
  );
  const idle = sessions.create(olga);
  const used = sessions.create(olga);
  for (let second = 0; second < 5; second++) {
    clock.advance(900);
    assert.ok(sessions.find(used), `at ${second}`);
  }
  assert.equal(sessions.find(idle), undefined);
  clock.advance(600);
  assert.equal(sessions.find(used), undefined, 'the session is too old');
  const first = sessions.create(olga);
  for (let count = 0; count < maxSessionsPerAdministrator; count++) sessions.create(olga);
  assert.equal(sessions.find(first), undefined);
  assert.equal(ended, 3);
  sessions.close();
});

test('20 clients that do not read share one computation, keep one message each, and are cut off', (t) => overviewForDeafReaders(t, 20));
