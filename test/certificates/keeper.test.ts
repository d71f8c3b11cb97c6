import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { CertificateKeeper, certificateFault, certificatePath, renewalMs } from '../../src/certificates/certificate-keeper.ts';
import type { CertificateStore } from '../../src/certificates/certificate-store.ts';
import { tlsOptions } from '../../src/certificates/options.ts';
import { selfSignedCertificate } from '../../src/lib/acme/certificates.ts';
import { silentLog } from '../../src/lib/log.ts';
import { MemoryCertificates } from '../../src/state/memory/certificates.ts';
import { type Lie, namesOf, TestAuthority } from '../support/acme-authority.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { until } from '../support/receiver.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';

const dayMs = 86_400_000;
const minuteMs = 60_000;

interface Told {
  id: number;
  data: Record<string, unknown>;
}

/** Returns a manual clock that begins now, because the certificates are made now. */
function presentClock(): ManualClock {
  const clock = new ManualClock();
  clock.advance(Date.now() - clock.nowMs());
  return clock;
}

interface Kept {
  clock: ManualClock;
  told: Told[];
  path: string;
  keeper: CertificateKeeper;
  store: CertificateStore;
  /** Advances the clock and waits for the next report. */
  next(ms: number): Promise<Told>;
}

async function keep(
  t: TestContext,
  authorities: TestAuthority[],
  given: { store?: CertificateStore; clock?: ManualClock; folder?: string } = {},
): Promise<Kept> {
  const { clock = presentClock(), folder = temporaryFolder(t) } = given;
  const store = given.store ?? new MemoryCertificates(clock);
  const told: Told[] = [];
  const events = {
    emit: ({ id, data }: { id: number; data?: Record<string, unknown> }) => {
      told.push({ id, data: data ?? {} });
      return {} as never;
    },
  };
  const keeper = new CertificateKeeper({ folder, store, events, clock, log: silentLog });
  const acme = {
    directory: authorities.map(({ directory }) => directory),
    domains: 'files.example.com',
    ca_certificates_path: authorities[0]?.caPath,
  };
  const options = tlsOptions.parse({ acme }).acme;
  const services = options ? [{ component: { uuid: 'web', type: 'https', name: 'Files' }, options }] : [];
  keeper.prepare(services);
  await keeper.apply(services);
  t.after(() => keeper.stop());
  const next = async (ms: number) => {
    const before = told.length;
    clock.advance(ms);
    // The loop of the keeper may not have started its pause yet when the time was advanced.
    await until('the next event is emitted', () => {
      if (told.length > before) return true;
      clock.advance(50);
      return false;
    });
    return told.at(-1) as Told;
  };
  return { clock, told, path: certificatePath(folder, 'web'), keeper, store, next };
}

const hostile = 'x\r\nevil: 1\u001b[2J'.repeat(200);
const lies: Record<string, { lies?: Record<string, Lie>; issue?: TestAuthority['behaviour']['issue']; says: RegExp }> = {
  'a directory that is an HTML page': { lies: { dir: { body: '<html>' } }, says: /no https URL for "newNonce"/ },
  'a directory over plain http': { lies: { dir: { body: { newNonce: 'http://localhost/n' } } }, says: /no https URL/ },
  'a directory that leads elsewhere': {
    lies: { dir: { status: 302, headers: { location: 'https://evil.example/' } } },
    says: /answered with 302/,
  },
  'a reply of 300,000 bytes': { lies: { dir: { body: 'x'.repeat(300_000) } }, says: /larger than 262144 bytes/ },
  'an order without its URL': { lies: { order: { headers: { location: '' } } }, says: /no https URL for the order/ },
  'an authorization with a file URL': {
    lies: { order: { body: { authorizations: ['file:///etc/passwd'] } } },
    says: /no https URL for an auth/,
  },
  'more authorizations than ordered names': {
    lies: { order: { body: { authorizations: ['https://a/', 'https://b/'] } } },
    says: /too long a list/,
  },
  'an authorization of another name': {
    lies: { authorization: { body: { status: 'pending', identifier: { type: 'dns', value: 'evil.example' } } } },
    says: /asks about evil.example, which was not ordered/,
  },
  'a token that is a path': {
    lies: {
      authorization: {
        body: {
          status: 'pending',
          identifier: { type: 'dns', value: 'files.example.com' },
          challenges: [{ type: 'http-01', url: 'https://localhost/', token: '../../../../etc/passwd-of-the-machine' }],
        },
      },
    },
    says: /an invalid token for files.example.com/,
  },
  'no challenge of the kind http-01': {
    lies: { authorization: { body: { status: 'pending', identifier: { value: 'files.example.com' }, challenges: [{ type: 'dns-01' }] } } },
    says: /offers no http-01/,
  },
  'an order that failed': {
    lies: { 'order/1': { body: { status: 'invalid', error: { type: 'urn:ietf:params:acme:error:caa', detail: hostile } } } },
    says: /the order is invalid: caa, x evil: 1 \[2J/,
  },
  'badNonce for ever': {
    lies: { order: { status: 400, body: { type: 'urn:ietf:params:acme:error:badNonce' } } },
    says: /refused the order with 400: badNonce/,
  },
  'no certificate': { lies: { certificate: { body: 'x' } }, says: /contains no certificate in PEM|contains a private key/ },
  'a certificate for another name': { issue: (ca, csr) => ca.sign(csr, 'evil.example'), says: /it is not for files.example.com/ },
  'an expired certificate': { issue: (ca, csr) => ca.sign(csr, 'files.example.com', 0), says: /expired on|not valid/ },
  'a certificate of another key': {
    issue: () =>
      selfSignedCertificate(['files.example.com'], { nowMs: Date.now(), lastsDays: 90 }).split('-----BEGIN PRIVATE')[0] as string,
    says: /the key does not belong to the certificate/,
  },
  'a certificate together with a private key': {
    issue: () => selfSignedCertificate(['files.example.com'], { nowMs: Date.now(), lastsDays: 90 }),
    says: /the key does not belong to the certificate/,
  },
};

test('no certificate of a lying authority is used, and the next configured authority is asked instead', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const liar = await new TestAuthority(t).listen(t);
  const kept = await keep(t, [liar]);
  const placeholder = readFileSync(kept.path, 'utf8');
  let waitMs = 2000;
  for (const [name, lie] of Object.entries(lies)) {
    liar.behaviour.lies = lie.lies ?? {};
    liar.behaviour.issue = lie.issue ?? ((authority, csr) => authority.sign(csr, 'files.example.com'));
    const { id, data } = await kept.next(waitMs);
    assert.equal(id, 20194, name);
    const details = String(data.details);
    assert.match(details, lie.says, name);
    assert.ok(details.startsWith(`${liar.directory}: `) && details.length < 800 && !/\p{C}/u.test(details), name);
    assert.equal(readFileSync(kept.path, 'utf8'), placeholder, `${name}: the placeholder certificate stays`);
    waitMs = Date.parse(String(data.next_try)) - kept.clock.nowMs() + 3000;
  }
  assert.deepEqual(
    kept.told.map(({ data }) => data.failures),
    Object.keys(lies).map((_, index) => index + 1),
  );
  await kept.keeper.stop();
  // `keep` configures only the CA file of the first authority, so this file must contain the roots of both authorities.
  liar.behaviour.lies = { order: { status: 500 } };
  const honest = await new TestAuthority(t).listen(t);
  writeFileSync(liar.caPath, readFileSync(honest.caPath, 'utf8') + readFileSync(liar.caPath, 'utf8'));
  const both = await keep(t, [liar, honest]);
  const { id, data } = await both.next(2000);
  assert.deepEqual([id, data.directory, data.name], [20193, honest.directory, 'Files']);
  assert.equal(namesOf(readFileSync(both.path, 'utf8')), 'DNS:files.example.com');
});

test('failures are retried at growing intervals, and not earlier than the authority allows', async (t) => {
  const authority = await new TestAuthority(t).listen(t);
  const rateLimited = { type: 'urn:ietf:params:acme:error:rateLimited', detail: 'too many' };
  authority.behaviour.lies = { order: { status: 429, body: rateLimited } };
  const kept = await keep(t, [authority]);
  let told = await kept.next(2000);
  for (const [index, [least, longest]] of [
    [1, 2],
    [2, 4],
    [4, 8],
    [8, 16],
  ].entries()) {
    const waitMs = Date.parse(String(told.data.next_try)) - kept.clock.nowMs();
    assert.ok(waitMs >= (least as number) * minuteMs - 1 && waitMs <= (longest as number) * minuteMs, `${index}: ${waitMs}`);
    kept.clock.advance(waitMs - 5000);
    assert.equal(kept.told.length, index + 1, 'the next try is not earlier');
    told = await kept.next(8000);
  }
  authority.behaviour.lies = { order: { status: 429, body: rateLimited, headers: { 'retry-after': '86400' } } };
  told = await kept.next(3_600_000);
  assert.equal(Math.round((Date.parse(String(told.data.next_try)) - kept.clock.nowMs()) / minuteMs), 1440);
  assert.match(String(told.data.details), /refused the order with 429: rateLimited, too many/);
});

test('a certificate is renewed after two thirds of its life, and used until the new one has arrived', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const authority = await new TestAuthority(t).listen(t);
  const folder = temporaryFolder(t);
  const first = await keep(t, [authority], { folder });
  await first.next(2000);
  const pem = readFileSync(first.path, 'utf8');
  const due = (renewalMs(pem) - Date.parse(new X509Certificate(pem).validFrom)) / dayMs;
  assert.ok(due > 90 * (2 / 3 - 1 / 20) && due <= 60, String(due));
  await first.keeper.stop();
  const { clock } = first;
  const again = await keep(t, [authority], { folder, clock });
  clock.advance(renewalMs(pem) - clock.nowMs() - 10_000);
  assert.deepEqual(again.told, [], 'after a restart, a certificate that is still good is not ordered again');
  assert.equal(readFileSync(again.path, 'utf8'), pem);
  authority.behaviour.lies = { order: { status: 503 } };
  const failed = await again.next(20_000);
  assert.deepEqual(
    [failed.id, failed.data.days_left],
    [20194, Math.floor((Date.parse(new X509Certificate(pem).validTo) - clock.nowMs()) / dayMs)],
  );
  assert.equal(readFileSync(again.path, 'utf8'), pem);
  authority.behaviour.lies = {};
  assert.equal((await again.next(3 * minuteMs)).id, 20193);
  assert.notEqual(readFileSync(again.path, 'utf8'), pem);
  const accounts = authority.asked.filter(({ path }) => path === 'account');
  assert.ok(
    accounts.length >= 3 && accounts.every(({ payload }) => payload === '{"termsOfServiceAgreed":true}'),
    'accounts are requested without an e-mail address',
  );
});

test('one of two nodes orders, and both use the certificate', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const authority = await new TestAuthority(t).listen(t);
  const clock = presentClock();
  const shared = new MemoryCertificates(clock);
  const follower: CertificateStore = {
    isLeader: async () => false,
    get: (name) => shared.get(name),
    put: (name, text, ms) => shared.put(name, text, ms),
    remove: (name) => shared.remove(name),
  };
  const [one, two] = [await keep(t, [authority], { clock, store: shared }), await keep(t, [authority], { clock, store: follower })];
  await one.next(2000);
  const pem = readFileSync(one.path, 'utf8');
  await until('the other node has the certificate', () => {
    clock.advance(2000);
    return readFileSync(two.path, 'utf8') === pem;
  });
  assert.equal(authority.asked.filter(({ path }) => path === 'order').length, 1);
  assert.deepEqual(two.told, []);
});

test('a certificate that is self-signed, expired, not yet valid or absent is rejected with the reason', () => {
  const nowMs = Date.now();
  const pem = selfSignedCertificate(['files.example.com', 'b.example.com'], { nowMs, lastsDays: 90 });
  assert.equal(certificateFault(pem, ['files.example.com'], nowMs), 'it is self-signed');
  assert.match(certificateFault(pem, ['files.example.com'], nowMs + 91 * dayMs) ?? '', /expired on/);
  assert.match(certificateFault(pem, [], nowMs - 2 * dayMs) ?? '', /not valid before/);
  assert.match(certificateFault('', [], nowMs) ?? '', /no certificate/);
});

test('domains and directories that cannot work are refused with a reason', () => {
  const refusal = (acme: object) =>
    tlsOptions.safeParse({ acme: { directory: 'https://ca.example/dir', domains: 'files.example.com', ...acme } }).error?.issues[0]
      ?.message;
  assert.equal(refusal({}), undefined);
  assert.deepEqual(
    tlsOptions.parse({ acme: { directory: 'https://ca.example/', domains: ['Bücher.example', 'a.example'] } }).acme?.domains,
    ['xn--bcher-kva.example', 'a.example'],
  );
  assert.match(refusal({ domains: '*.example.com' }) ?? '', /a wildcard needs the challenge dns-01/);
  for (const domain of ['192.0.2.1', '[::1]', 'a b', 'a_b.example', '-a.example', 'a..example', 'x/../y', `${'a'.repeat(64)}.example`])
    assert.match(refusal({ domains: [domain] }) ?? '', /is not a domain/, domain);
  assert.match(refusal({ domains: [] }) ?? '', /at least one/);
  assert.match(refusal({ directory: 'http://ca.example/dir' }) ?? '', /must be https/);
  assert.match(refusal({ email: 'a@b.example?bcc=x' }) ?? '', /e-mail address/);
  assert.match(refusal({ challenge: 'dns-01' }) ?? '', /http-01 or tls-alpn-01/);
});

test('the certificate file of a service lies directly in the given folder, even if the UUID of the service is `..`', () => {
  for (const uuid of ['..', '.', 'a b', '%2e', 'ü'])
    assert.ok(
      certificatePath('/data', uuid).startsWith(join('/data', '/')) && !certificatePath('/data', uuid).slice(6).includes('/'),
      uuid,
    );
});
