import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { AddressBans, Admission, AttemptOutcome, LoginAttempt, SecurityPolicy } from '../../src/auth/ban-list.ts';

const pause = (delayMs: number) => new Promise((resolve) => setTimeout(resolve, delayMs));
const here = '192.0.2.1';
const leaseMs = 30_000;
let lastGuess = 0;

/** Returns an attempt with new credentials. */
export function guess(username = `user${++lastGuess}`, source = here): LoginAttempt {
  return { source, username, credential: `${username} guess ${++lastGuess}` };
}

/** Makes an attempt from its beginning to its end. */
export async function attempt(bans: AddressBans, made: LoginAttempt, outcome: AttemptOutcome): Promise<Admission['kind']> {
  const { kind } = await bans.begin(made, leaseMs, true);
  if (kind === 'admitted') await bans.end(made, outcome);
  return kind;
}

/** Distributes calls in turn over processes that share their state. */
export function inTurns(processes: readonly AddressBans[]): AddressBans {
  let calls = 0;
  const next = () => processes[calls++ % processes.length] as AddressBans;
  return {
    keyFor: (text) => next().keyFor(text),
    isRefused: (source) => next().isRefused(source),
    begin: (made, lease, isInLine) => next().begin(made, lease, isInLine),
    end: (made, outcome) => next().end(made, outcome),
    list: () => next().list(),
    lift: (bans) => next().lift(bans),
  };
}

/** The contract of `AddressBans`. */
export function bansContract(name: string, open: (t: TestContext, policy: () => SecurityPolicy) => Promise<AddressBans | undefined>): void {
  const contract = (what: string, policy: Partial<SecurityPolicy>, run: (bans: AddressBans, policy: SecurityPolicy) => Promise<void>) =>
    test(`${name}: ${what}`, async (t) => {
      const inForce = { ban_after_failures: 3, ban_seconds: 60, ban_window_seconds: 60, ...policy };
      const bans = await open(t, () => inForce);
      if (bans) await run(bans, inForce);
    });

  contract('bans are listed with the remaining time; lifting a ban also removes its failures', {}, async (bans) => {
    const [there, elsewhere] = ['2001:db8:0:1::/64', '192.0.2.77'];
    for (const source of [here, there]) for (let index = 0; index < 3; index++) await attempt(bans, guess(undefined, source), 'failed');
    for (let index = 0; index < 2; index++) await attempt(bans, guess(undefined, elsewhere), 'failed');
    const listed = (await bans.list()).sort((a, b) => (a.of < b.of ? -1 : 1));
    assert.deepEqual(
      listed.map(({ by, of }) => [by, of]),
      [
        ['address', here],
        ['address', there],
      ],
      'fewer failures than the maximum cause no ban',
    );
    for (const { leftMs, ageMs, failures } of listed) {
      assert.ok(leftMs > 50_000 && leftMs <= 60_000, String(leftMs));
      assert.ok(ageMs !== undefined && ageMs >= 0 && Math.abs(leftMs + ageMs - 60_000) < 100, String(ageMs));
      assert.equal(failures, 3);
    }
    await bans.lift([there, elsewhere, '192.0.2.99'].map((of) => ({ by: 'address', of })));
    await bans.lift([]);
    for (let round = 0; round < 2; round++) assert.equal(await bans.isRefused(there), undefined);
    assert.ok(await bans.isRefused(here));
    for (const source of [there, elsewhere])
      for (let index = 0; index < 2; index++) assert.equal(await attempt(bans, guess(undefined, source), 'failed'), 'admitted');
    for (const source of [there, elsewhere]) assert.equal(await bans.isRefused(source), undefined, 'failures are counted from zero');
    assert.deepEqual(
      (await bans.list()).map(({ of }) => of),
      [here],
    );
  });

  contract(
    'names with too many failures are listed with the remaining time; lifting such a limit also removes the failures',
    {},
    async (bans) => {
      const from = (index: number) => `198.51.100.${index}`;
      let addresses = 0;
      const fail = async (name: string, times: number) => {
        for (let index = 0; index < times; index++) await attempt(bans, guess(name, from(++addresses)), 'failed');
      };
      await attempt(bans, guess('alice', from(60)), 'succeeded');
      await fail('Alice', 10);
      await fail('*', 10);
      await fail('bob', 9);
      for (let index = 0; index < 2; index++) await attempt(bans, guess('alice', from(60)), 'failed');
      assert.equal((await bans.begin(guess('alice', from(50)), leaseMs, true)).kind, 'refused');
      const listed = (await bans.list()).sort((a, b) => (a.of < b.of ? -1 : 1));
      assert.deepEqual(
        listed.map(({ by, of, failures }) => [by, of, failures]),
        [
          ['name', '*', 10],
          ['name', 'alice', 12],
        ],
      );
      for (const { leftMs, ageMs } of listed) {
        assert.ok(leftMs > 30_000 && leftMs <= 60_000, String(leftMs));
        assert.ok(ageMs !== undefined && ageMs >= 0 && ageMs < 10_000, String(ageMs));
      }
      await bans.lift([
        { by: 'name', of: 'alice' },
        { by: 'name', of: 'nobody' },
      ]);
      assert.deepEqual(
        (await bans.list()).map(({ of }) => of),
        ['*'],
      );
      for (let round = 0; round < 2; round++)
        assert.equal(await attempt(bans, guess('ALICE', from(50 + round)), 'failed'), 'admitted', 'failures are counted from zero');
      assert.equal((await bans.begin(guess('*', from(50)), leaseMs, true)).kind, 'refused');
    },
  );

  contract('spellings that directories and databases treat as one name share their failures', {}, async (bans) => {
    const spellings = ['josé', 'José', 'jose\u0301', 'JOSE ', ' jose', 'jo\u200bse', 'ｊｏｓｅ', 'jo\u00adse', 'joſe', 'jose  '];
    for (const [index, name] of spellings.entries())
      assert.equal(await attempt(bans, guess(name, `192.0.2.${index + 10}`), 'failed'), 'admitted', JSON.stringify(name));
    for (const name of [...spellings, 'j o s e'])
      assert.equal((await bans.begin(guess(name, '192.0.2.99'), leaseMs, true)).kind, 'refused', JSON.stringify(name));
    assert.equal((await bans.begin(guess('josef', '192.0.2.99'), leaseMs, true)).kind, 'admitted');
    assert.equal((await bans.begin(guess('administrator/jose', '192.0.2.98'), leaseMs, true)).kind, 'admitted');
  });

  contract('failures without a name are not counted for a name', {}, async (bans) => {
    for (const nobody of ['', 'link/'])
      for (let index = 0; index < 12; index++)
        assert.equal(await attempt(bans, guess(nobody, `192.0.2.${index + 10}`), 'failed'), 'admitted');
    assert.deepEqual(await bans.list(), []);
  });

  contract('failures of an account name that looks like `administrator/olga` do not count for the administrator olga', {}, async (bans) => {
    const spellings = ['administrator／olga', 'administrator⁄olga', 'administrator olga', 'administratorolga', 'administrator\u200b／olga'];
    for (let index = 0; index < 10; index++) {
      const name = spellings[index % spellings.length] as string;
      await attempt(bans, guess(name, `192.0.2.${index + 10}`), 'failed');
      await attempt(bans, guess('administrator／olga', `192.0.2.${index + 10}`), 'failed');
    }
    assert.equal((await bans.begin(guess('administrator/olga', '192.0.2.99'), leaseMs, true)).kind, 'admitted');
    assert.equal((await bans.begin(guess('administrator／olga', '192.0.2.98'), leaseMs, true)).kind, 'refused');
  });

  contract(
    'failures outside the window do not count, a ban ends in time, and ban_after_failures: 0 disables bans',
    { ban_seconds: 1, ban_window_seconds: 0.4 },
    async (bans, policy) => {
      const fail = async (times: number) => {
        for (let index = 0; index < times; index++) await attempt(bans, guess(), 'failed');
      };
      await fail(2);
      await pause(500);
      await fail(2);
      assert.equal(await bans.isRefused(here), undefined, 'old failures do not count');
      await fail(1);
      assert.deepEqual(await bans.isRefused(here), { by: 'address', retryAfterS: 1 });
      assert.deepEqual(await bans.begin(guess(), leaseMs, true), { kind: 'refused', by: 'address', retryAfterS: 1 });
      assert.equal(await bans.isRefused('192.0.2.2'), undefined);
      await pause(1100);
      assert.equal(await bans.isRefused(here), undefined, 'the ban has ended');
      policy.ban_after_failures = 0;
      await fail(50);
      assert.equal(await bans.isRefused(here), undefined);
    },
  );

  contract('a success removes only the failures of the same name from the same source', {}, async (bans) => {
    const right = guess('alice');
    await attempt(bans, guess('alice'), 'failed');
    await attempt(bans, guess('mallory'), 'failed');
    await attempt(bans, guess('alice', '192.0.2.2'), 'failed');
    await attempt(bans, guess('alice', '192.0.2.2'), 'failed');
    await attempt(bans, right, 'succeeded');
    await attempt(bans, guess('alice'), 'failed');
    assert.equal(await bans.isRefused(here), undefined, "two failures count: mallory's, and that of alice after the success");
    await attempt(bans, guess('Alice'), 'failed');
    assert.ok(await bans.isRefused(here));
    assert.equal(await bans.isRefused('192.0.2.2'), undefined);
    await attempt(bans, guess('alice', '192.0.2.2'), 'failed');
    assert.ok(await bans.isRefused('192.0.2.2'), 'a success from another address removes no failure');
  });

  contract('the same wrong credentials count once, whether repeated or concurrent', {}, async (bans) => {
    const old = guess('alice');
    for (let round = 0; round < 10; round++) assert.equal(await attempt(bans, old, 'failed'), 'admitted');
    await Promise.all(Array.from({ length: 10 }, () => attempt(bans, old, 'failed')));
    await attempt(bans, guess(), 'failed');
    assert.equal(await bans.isRefused(here), undefined);
    await attempt(bans, guess(), 'failed');
    assert.ok(await bans.isRefused(here));
  });

  contract('running attempts count as failures until they end, however many are concurrent', { ban_after_failures: 5 }, async (bans) => {
    await attempt(bans, guess(), 'failed');
    const guesses = Array.from({ length: 50 }, () => guess());
    const admissions = await Promise.all(guesses.map((one) => bans.begin(one, leaseMs, true)));
    const underWay = guesses.filter((_, index) => admissions[index]?.kind === 'admitted');
    assert.equal(underWay.length, 4);
    assert.equal(admissions.filter(({ kind }) => kind === 'busy').length, 46);
    assert.equal((await bans.begin(guess('bob', '192.0.2.2'), leaseMs, true)).kind, 'admitted', 'another source is not affected');
    const [first, second, third, fourth] = underWay as [LoginAttempt, LoginAttempt, LoginAttempt, LoginAttempt];
    assert.equal((await bans.begin(first, leaseMs, true)).kind, 'admitted', 'identical concurrent attempts count as one');
    await bans.end(first, 'failed');
    assert.equal((await bans.begin(guess(), leaseMs, true)).kind, 'busy', 'the slot of the failed attempt now counts as a failure');
    await bans.end(second, 'unknown');
    const next = guess();
    assert.equal((await bans.begin(next, leaseMs, true)).kind, 'admitted');
    await bans.end(third, 'succeeded');
    assert.equal(await attempt(bans, guess(), 'unknown'), 'admitted');
    assert.equal(await bans.isRefused(here), undefined);
    await bans.end(fourth, 'failed');
    await bans.end(next, 'failed');
    assert.equal(await bans.isRefused(here), undefined, 'four failures cause no ban');
    await attempt(bans, guess(), 'failed');
    assert.ok(await bans.isRefused(here));
  });

  contract(
    'the slot of an attempt ends with its lease; an attempt whose turn has not come gets no slot',
    { ban_after_failures: 1 },
    async (bans) => {
      assert.equal((await bans.begin(guess(), leaseMs, false)).kind, 'busy');
      const lost = guess();
      assert.equal((await bans.begin(lost, 300, true)).kind, 'admitted');
      assert.equal((await bans.begin(lost, 300, false)).kind, 'admitted', 'this attempt already has a slot');
      assert.equal((await bans.begin(guess(), leaseMs, true)).kind, 'busy');
      await pause(400);
      const next = guess();
      assert.equal((await bans.begin(next, leaseMs, true)).kind, 'admitted');
      await bans.end(lost, 'failed');
      assert.ok(await bans.isRefused(here), 'a late failure counts, too');
    },
  );

  contract('credentials that were accepted from a source need no slot, until they fail', { ban_window_seconds: 1 }, async (bans) => {
    const mine = guess('alice');
    assert.equal(await attempt(bans, mine, 'succeeded'), 'admitted');
    for (let index = 0; index < 3; index++) await bans.begin(guess(), leaseMs, true);
    assert.equal((await bans.begin(guess(), leaseMs, true)).kind, 'busy');
    for (let round = 0; round < 4; round++) {
      assert.deepEqual(await bans.begin(mine, leaseMs, false), { kind: 'admitted', isKnown: true });
      await bans.end(mine, 'succeeded');
    }
    const other = { ...mine, source: '192.0.2.2' };
    assert.deepEqual(await bans.begin(other, leaseMs, true), { kind: 'admitted', isKnown: false });
    await bans.end(mine, 'failed');
    await pause(100);
    assert.notDeepEqual(await bans.begin(mine, leaseMs, false), { kind: 'admitted', isKnown: true });
    const late = guess('alice', '192.0.2.3');
    await attempt(bans, late, 'succeeded');
    await pause(1100);
    assert.deepEqual(await bans.begin(late, leaseMs, true), { kind: 'admitted', isKnown: false }, 'the success is older than the window');
  });

  contract('a banned source is refused even with credentials accepted before', { ban_after_failures: 1 }, async (bans) => {
    const mine = guess('alice');
    await attempt(bans, mine, 'succeeded');
    await attempt(bans, guess(), 'failed');
    assert.equal((await bans.begin(mine, leaseMs, true)).kind, 'refused');
  });

  contract('a name may fail ten times a minute over all sources, not counting sources from which it was accepted', {}, async (bans) => {
    const from = (index: number) => `198.51.100.${index}`;
    await attempt(bans, guess('alice', from(200)), 'succeeded');
    const same = guess('alice', from(0));
    for (let index = 0; index < 20; index++) await attempt(bans, { ...same, source: from(index) }, 'failed');
    for (let index = 0; index < 6; index++) assert.equal(await attempt(bans, guess('alice', from(index)), 'failed'), 'admitted');
    const underWay = Array.from({ length: 3 }, (_, index) => guess(index === 1 ? 'ALICE' : 'alice', from(100 + index)));
    for (const one of underWay) assert.equal((await bans.begin(one, leaseMs, true)).kind, 'admitted');
    assert.equal((await bans.begin(guess('alice', from(50)), leaseMs, true)).kind, 'refused', 'running attempts count');
    for (const one of underWay) await bans.end(one, 'failed');
    const refusal = await bans.begin(guess('Alice', from(50)), leaseMs, true);
    assert.ok(
      refusal.kind === 'refused' && refusal.by === 'name' && refusal.retryAfterS > 50 && refusal.retryAfterS <= 60,
      JSON.stringify(refusal),
    );
    assert.equal(await bans.isRefused(from(50)), undefined, 'the address may try other names');
    assert.equal(await attempt(bans, guess('bob', from(50)), 'failed'), 'admitted');
    assert.equal(
      await attempt(bans, guess('alice', from(200)), 'failed'),
      'admitted',
      'an address from which the name was accepted is not limited',
    );
  });

  test(`${name}: the key of accepted credentials reveals nothing about them`, async (t) => {
    const bans = await open(t, () => ({ ban_after_failures: 3, ban_seconds: 60, ban_window_seconds: 60 }));
    if (!bans) return;
    assert.equal(bans.keyFor('alice secret'), bans.keyFor('alice secret'));
    assert.notEqual(bans.keyFor('alice secret'), bans.keyFor('alice Secret'));
    assert.equal(bans.keyFor('alice secret').includes('secret'), false);
  });
}
