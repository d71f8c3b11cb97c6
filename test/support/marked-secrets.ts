import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { run, start } from './child.ts';
import { Client, type TestReply } from './client.ts';
import { cheapHash } from './passwords.ts';
import { startReceiver, until } from './receiver.ts';
import { temporaryFolder } from './temp.ts';

/** The secrets of the scenario. Each contains a unique text, which only the receiver of the secret may get. */
export const secrets = {
  password: 'Marker-Password-1',
  nextPassword: 'Marker-Password-2',
  wrongPassword: 'Marker-Wrong-3',
  calloutPassword: 'Marker-Callout-4',
  calloutHeader: 'Marker-Callout-Header-5',
  calloutQuery: 'Marker-Callout-Query-6',
  hookPassword: 'Marker-Hook-7',
  hookHeader: 'Marker-Hook-Header-8',
  hookQuery: 'Marker-Hook-Query-9',
  hookSecret: 'Marker-Hook-Secret-10',
  environment: 'Marker-Environment-11',
};

function formsOf(secret: string): string[] {
  const encoded = ['alice', 'callout-user', 'hook-user'].map((user) => Buffer.from(`${user}:${secret}`).toString('base64'));
  return [secret, ...encoded, Buffer.from(secret).toString('base64').replace(/=+$/, ''), Buffer.from(secret).toString('hex')];
}

export function assertNoSecret(text: string, where: string, found: readonly string[] = Object.values(secrets)): void {
  for (const secret of found) for (const form of formsOf(secret)) assert.equal(text.includes(form), false, `${where} shows ${secret}`);
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Writes a configuration that uses the secrets. */
export async function configure(folder: string, calloutUrl: string, hookUrl: string): Promise<void> {
  mkdirSync(join(folder, 'home'));
  const callout = {
    type: 'http',
    url: `${calloutUrl}?token=${secrets.calloutQuery}`,
    username: 'callout-user',
    password: secrets.calloutPassword,
    headers: [`X-Key: ${secrets.calloutHeader}`],
    timeout: 5,
  };
  const hook = {
    type: 'http',
    target: '20137, 20142, 40000, 40017, 40019, 40021, 20085, 20086',
    url: `${hookUrl}?token=${secrets.hookQuery}`,
    username: 'hook-user',
    password: secrets.hookPassword,
    headers: [`X-Key: ${secrets.hookHeader}`],
    signing_secret: secrets.hookSecret,
    extra_data: { fixed: '${env:MARKED}' },
    fail_after_errors: 0,
  };
  const config = {
    server: { data_folder_path: 'data', security_policy: { ban_after_failures: 0 }, log: { level: 'debug' } },
    groups: { DEFAULT_GROUP: { home_folder_path: './home', allow_own_password_change: true } },
    accounts: { alice: { password: await cheapHash(secrets.password) } },
    authentications: { local: { type: 'application' }, callout },
    services: { web: { type: 'http', port: 0 } },
    event_handlers: { crm: hook },
  };
  writeFileSync(join(folder, 'svc.config.json'), JSON.stringify(config));
}

/** Waits until the heap snapshot in a folder is complete, and returns it. On a busy machine, this takes some time. */
async function heapWrittenTo(folder: string): Promise<string> {
  for (let waited = 0; waited < 200; waited++) {
    await sleep(200);
    const [name] = readdirSync(folder);
    const sizes =
      name === undefined ? [0, 0] : [statSync(join(folder, name)).size, await sleep(100).then(() => statSync(join(folder, name)).size)];
    if (name === undefined || sizes[0] === 0 || sizes[0] !== sizes[1]) continue;
    const heap = readFileSync(join(folder, name), 'utf8');
    if (heap.trimEnd().endsWith('}')) return heap;
  }
  assert.fail('no heap snapshot was written');
}

/** Makes every request that handles a secret, with success and with failure. @returns all replies as text, and the session IDs */
async function act(client: Client): Promise<{ replies: string; sessions: string[] }> {
  const replies: TestReply[] = [];
  const keep = async (reply: Promise<TestReply>) => void replies.push(await reply);
  const session = await client.login('alice', secrets.password);
  const other = await client.login('alice', secrets.password);
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  for (const password of [secrets.wrongPassword, secrets.password]) {
    const user = `alice:${password}`;
    for (const accept of ['application/json', 'text/html']) {
      await keep(client.get('/home/', { user, headers: { accept } }));
      const body = new URLSearchParams({ username: 'alice', password }).toString();
      if (password === secrets.wrongPassword)
        await keep(client.send('POST', '/__svc__/login', { user: null, body, headers: { ...form, accept } }));
    }
    await keep(client.put('/home/a', 'x', { user }));
    await keep(client.send('GET', '/home/%', { user }));
    await keep(client.send('POST', '/home/', { user, body: '{', headers: { 'content-type': 'application/json' } }));
  }
  for (const [current, next] of [
    [secrets.wrongPassword, secrets.nextPassword],
    [secrets.password, 'short'],
    [secrets.password, secrets.nextPassword],
  ]) {
    const body = JSON.stringify({ current_password: current, new_password: next });
    const headers = { authorization: `session ${session}`, 'content-type': 'application/json' };
    await keep(client.send('POST', '/home/__svc__/password-update', { user: null, body, headers }));
  }
  assert.equal(replies.at(-1)?.status, 204);
  await keep(
    client.send('POST', '/__svc__/login', {
      user: null,
      body: `{"username":"alice","password":"${secrets.wrongPassword}"`,
      headers: { 'content-type': 'application/json' },
    }),
  );
  await keep(client.get('/home/a', { user: null, headers: { authorization: `session ${session}` } }));
  await keep(
    client.get(`/home/?password=${secrets.wrongPassword}`, {
      user: `alice:${secrets.nextPassword}`,
      headers: { accept: 'application/json' },
    }),
  );
  await client.raw(
    `GET /home/ HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${Buffer.from(`alice:${secrets.wrongPassword}`).toString('base64')}\r\nBad Header: x\r\n\r\n`,
  );
  return { replies: replies.map((reply) => `${reply.rawHeaders.join('\n')}\n${reply.text}`).join('\n'), sessions: [session, other] };
}

/** Asserts that passwords and sessions are not kept after they were checked. @param snapshots folder for a snapshot of the heap */
async function assertNoSecretInHeap(server: ChildProcess, snapshots: string, sessions: readonly string[]): Promise<void> {
  server.kill('SIGUSR2');
  const heap = await heapWrittenTo(snapshots);
  // Secrets that the service sends to others must be in its memory, and so in the snapshot. Therefore the snapshot is removed before the
  // search at the end of the test.
  rmSync(snapshots, { recursive: true });
  assert.ok(heap.includes('SVC_HTTP_SESSION'), 'the snapshot of the heap contains texts');
  assertNoSecret(heap, 'the heap', [secrets.password, secrets.nextPassword, secrets.wrongPassword]);
  for (const session of sessions) assert.equal(heap.includes(session), false, 'the heap shows a session');
}

/**
 * Makes a service do everything that handles a secret, and then searches the service's log, events, journal, delivery records, replies and
 * errors for the secrets.
 *
 * @param options.withHeap whether to search the memory as well, for secrets that the service must not keep
 */
export async function assertSecretsStayHidden(t: TestContext, options: { withHeap: boolean }): Promise<void> {
  const folder = temporaryFolder(t);
  const callout = await startReceiver(t, { otherwise: { status: 401, body: 'no' } });
  const hook = await startReceiver(t, { script: [{ status: 500, body: 'broken' }, {}], repeat: true });
  await configure(folder, callout.url, hook.url);
  const snapshots = join(folder, 'snapshots');
  mkdirSync(snapshots);
  const env = { MARKED: secrets.environment, NODE_OPTIONS: `--heapsnapshot-signal=SIGUSR2 --diagnostic-dir=${snapshots}` };
  const server = start(t, ['serve', '--log-level', 'debug'], { cwd: folder, env });
  const client = new Client((await server.line(/(http:\S+)\/\n/))[1] ?? '');
  const { replies, sessions } = await act(client);
  await until('the callout and the receiver have got their requests', () => callout.requests.length >= 2 && hook.requests.length >= 5);
  assert.ok(
    callout.requests.some(({ url }) => url.includes(secrets.calloutQuery)),
    'the scenario uses the secrets',
  );
  assert.ok(hook.requests.some(({ headers }) => JSON.stringify(headers).includes(secrets.hookHeader)));

  // An error message is most likely to show a secret when a configuration is refused.
  const good = readFileSync(join(folder, 'svc.config.json'), 'utf8');
  writeFileSync(join(folder, 'svc.config.json'), good.replace('"timeout":5', '"timeout":"${env:MARKED}"'));
  server.child.kill('SIGHUP');
  await until('the reload is refused', () => server.stderr().includes('refused'));
  writeFileSync(join(folder, 'svc.config.json'), good);

  if (options.withHeap) await assertNoSecretInHeap(server.child, snapshots, sessions);

  server.child.kill('SIGTERM');
  const { stdout, stderr } = await server.ended;
  assertNoSecret(stdout + stderr, 'the log');
  assertNoSecret(replies, 'a reply');
  const written = filesBelow(join(folder, 'data'));
  assert.ok(written.some((path) => path.includes('journal')) && written.some((path) => path.includes('deliveries')), `${written}`);
  // If the configuration puts secrets into the bodies of deliveries, the records of deliveries contain them.
  const inFiles = Object.values(secrets).filter((secret) => secret !== secrets.environment);
  for (const path of written) {
    const text = readFileSync(path, 'latin1');
    assertNoSecret(text, path, inFiles);
    for (const session of sessions) assert.equal(text.includes(session), false, `${path} shows a session`);
  }
  const events = await run(t, ['events', '--limit', '1000'], { cwd: folder });
  assertNoSecret(events.stdout + events.stderr, 'svc events', inFiles);
}
