import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { journalFolder } from '../../src/events/journal/file-event-log.ts';
import { start } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { readEvents } from '../support/journal.ts';
import { otherDisk } from '../support/other-disk.ts';
import { cheapHash } from '../support/passwords.ts';
import { randomFrom } from '../support/random.ts';
import { startReceiver } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temp.ts';

/** The changes that replies have confirmed so far. They must survive every crash. */
class Promised {
  /** Virtual paths of small files whose upload was answered. */
  readonly uploads: string[] = [];
  /** For each overwritten file: the last answered version and the last one sent. */
  readonly versions = new Map<string, { answered: number; sent: number }>();
  /** The last password whose change was answered, and the password that is being set. */
  password = 'first-password';
  nextPassword: string | undefined = undefined;
  answered = { moves: 0, passwords: 0, overwrites: 0, archives: 0 };
  number = 0;
}

/** Size of an overwritten file: large enough that a kill can come in the middle of its upload. */
const versionBytes = 400_000;

function versionContent(path: string, version: number): Buffer {
  return Buffer.alloc(versionBytes, createHash('sha256').update(`${path} ${version}`).digest());
}

type Actor = (client: Client, promised: Promised) => Promise<void>;

function authorization(promised: Promised): string {
  return `Basic ${Buffer.from(`alice:${promised.password}`).toString('base64')}`;
}

async function uploadNew(client: Client, promised: Promised): Promise<void> {
  const path = `/new/${++promised.number}`;
  const reply = await client.put(`/home${path}`, path, { headers: { authorization: authorization(promised) } });
  if (reply.status === 201) promised.uploads.push(path);
}

async function overwrite(client: Client, promised: Promised, path: string): Promise<void> {
  const known = promised.versions.get(path) ?? { answered: 0, sent: 0 };
  promised.versions.set(path, known);
  const version = ++known.sent;
  const reply = await client.put(`/home${path}`, versionContent(path, version), { headers: { authorization: authorization(promised) } });
  if (reply.status !== 201) return;
  known.answered = version;
  promised.answered.overwrites++;
}

async function moveTree(client: Client, promised: Promised): Promise<void> {
  for (const [from, to] of [
    ['/home/tree/', '/home/disk/tree/'],
    ['/home/disk/tree/', '/home/tree/'],
  ] as const) {
    const reply = await client.send('MOVE', from, { headers: { authorization: authorization(promised), destination: to } });
    if (reply.status < 300) promised.answered.moves++;
  }
}

function readArchive(client: Client, promised: Promised): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: authorization(promised), accept: 'application/zip' };
    const outgoing = request(`${client.url}/home/`, { headers, agent: false }, (incoming) => {
      incoming.on('end', () => {
        promised.answered.archives++;
        resolve();
      });
      incoming.on('error', reject);
      incoming.resume();
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

async function changePassword(client: Client, promised: Promised): Promise<void> {
  const session = await client.login('alice', promised.password);
  promised.nextPassword = `password-${++promised.number}`;
  const reply = await client.send('POST', '/home/__svc__/password-update', {
    headers: { authorization: `session ${session}`, 'content-type': 'application/json' },
    body: JSON.stringify({ current_password: promised.password, new_password: promised.nextPassword }),
  });
  if (reply.status !== 204) return;
  promised.password = promised.nextPassword;
  promised.nextPassword = undefined;
  promised.answered.passwords++;
}

const actors: readonly Actor[] = [
  uploadNew,
  uploadNew,
  (client, promised) => overwrite(client, promised, '/a'),
  (client, promised) => overwrite(client, promised, '/disk/b'),
  moveTree,
  readArchive,
  changePassword,
];

/** Lets all actors work until the service has died. Resolves when the last actor has noticed this. */
async function actUntilGone(url: string, promised: Promised, isOver: () => boolean): Promise<void> {
  const client = new Client(url);
  await Promise.all(
    actors.map(async (act) => {
      while (!isOver()) await act(client, promised).catch(() => {});
    }),
  );
}

const rounds = Number(process.env.SVC_CRASH_HARNESS_ROUNDS ?? 30);
const seed = Number(process.env.SVC_FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));
const treeFiles = 12;

interface Places {
  folder: string;
  home: string;
  disk: string;
}

async function configure({ folder, home, disk }: Places, receiverUrl: string): Promise<void> {
  const password = await cheapHash('first-password');
  writeFileSync(join(folder, 'accounts.json'), JSON.stringify({ accounts: { alice: { password } } }));
  const handler = { type: 'http', target: '40017', url: receiverUrl, retry_count: 50, retry_increase: 0.01, fail_after_errors: 0 };
  const config = {
    server: { data_folder_path: 'data', events: { maximum_file_size: 65_536 }, security_policy: { ban_after_failures: 0 } },
    groups: { DEFAULT_GROUP: { home_folder_path: home, virtual_folders: [['/disk', disk]], allow_own_password_change: true } },
    authentications: { local: { type: 'application', accounts_file_path: 'accounts.json' } },
    services: { web: { type: 'http', port: 0 } },
    event_handlers: { crm: handler },
  };
  writeFileSync(join(folder, 'svc.config.json'), JSON.stringify(config));
  for (const name of ['new', 'tree']) mkdirSync(join(home, name));
  for (let index = 0; index < treeFiles; index++) writeFileSync(join(home, 'tree', `f${index}`), Buffer.alloc(20_000, `f${index}`));
}

function wholeFiles(folder: string): number {
  try {
    return readdirSync(folder).filter((name) => readFileSync(join(folder, name)).equals(Buffer.alloc(20_000, name))).length;
  } catch {
    return 0;
  }
}

function checkDisk({ folder, home, disk }: Places, promised: Promised, what: string, checkedUploads: number): void {
  for (const place of [home, join(home, 'new'), disk, folder])
    assert.deepEqual(
      readdirSync(place).filter((name) => name.startsWith('.')),
      [],
      `${what}: something is left behind`,
    );
  const [here, there] = [wholeFiles(join(home, 'tree')), wholeFiles(join(disk, 'tree'))];
  assert.deepEqual(
    [here, there].toSorted((a, b) => a - b),
    [0, treeFiles],
    `${what}: the moved folder is whole in one place: ${here}, ${there}`,
  );
  for (const path of promised.uploads.slice(checkedUploads)) assert.equal(readFileSync(join(home, path), 'utf8'), path, what);
  for (const [path, { answered, sent }] of promised.versions) {
    const real = path.startsWith('/disk/') ? join(disk, path.slice('/disk/'.length)) : join(home, path);
    const possible = Array.from({ length: sent - answered + 1 }, (_, index) => answered + index);
    const content = readdirSync(join(real, '..')).includes(path.split('/').at(-1) ?? '') ? readFileSync(real) : undefined;
    const found = possible.find((version) => (version === 0 ? content === undefined : content?.equals(versionContent(path, version))));
    assert.ok(found !== undefined, `${what}: ${path} is none of the versions ${possible}`);
    promised.versions.set(path, { answered: found, sent: Math.max(sent, found) });
  }
}

async function checkPassword(client: Client, promised: Promised): Promise<void> {
  for (const password of [promised.nextPassword, promised.password]) {
    if (password === undefined) continue;
    const reply = await client.get('/home/', { user: `alice:${password}`, headers: { accept: 'application/json' } });
    if (reply.status !== 200) continue;
    promised.password = password;
    promised.nextPassword = undefined;
    return;
  }
  assert.fail('neither the old nor the new password is right');
}

test(`kill -9 at random moments of all kinds of work, ${rounds} times: nothing lost, mixed or left over, and all delivered`, {
  timeout: 90_000 + rounds * 5000,
}, async (t) => {
  const disk = otherDisk(t);
  if (!disk) return;
  console.log(`seed ${seed}: ${t.name}`);
  const random = randomFrom(seed);
  const folder = temporaryFolder(t);
  const places = { folder, home: join(folder, 'home'), disk };
  mkdirSync(places.home);
  const receiver = await startReceiver(t, { script: [{}, {}, { status: 500 }, {}, { fault: 'reset' }], repeat: true });
  await configure(places, receiver.url);
  const promised = new Promised();
  let interrupted = 0;
  let checkedUploads = 0;
  for (let round = 0; round < rounds; round++) {
    const server = start(t, ['serve', '--log-level', 'error'], { cwd: folder });
    const url = (await server.line(/(http:\S+)\/\n/))[1] ?? '';
    checkDisk(places, promised, `round ${round}`, checkedUploads);
    checkedUploads = promised.uploads.length;
    await checkPassword(new Client(url), promised);
    let isOver = false;
    const acting = actUntilGone(url, promised, () => isOver);
    if (round % 3 === 0) {
      appendFileSync(join(folder, 'svc.config.json'), ' ');
      await sleep(random() * 100);
      server.child.kill('SIGHUP');
    }
    await sleep(20 + random() * 400);
    isOver = true;
    server.child.kill('SIGKILL');
    await server.ended;
    await acting;
    if ([places.home, disk].some((place) => readdirSync(place).some((name) => name.startsWith('.svc-')))) interrupted++;
  }
  const server = start(t, ['serve', '--log-level', 'error'], { cwd: folder });
  const url = (await server.line(/(http:\S+)\/\n/))[1] ?? '';
  checkDisk(places, promised, 'the last start', 0);
  await checkPassword(new Client(url), promised);
  const isDelivered = () => {
    const told = new Set(receiver.events().map(({ data }) => data.path));
    return promised.uploads.every((path) => told.has(path));
  };
  for (let waited = 0; waited < 60 && !isDelivered(); waited++) await sleep(1000);
  assert.ok(isDelivered(), 'every answered upload is delivered');
  server.child.kill('SIGTERM');
  assert.equal((await server.ended).code, 0);
  const journalled = new Map<string, number>();
  const paths = new Set<unknown>();
  for await (const { event } of readEvents(journalFolder(join(folder, 'data')), undefined, (bad) => assert.fail(bad.reason))) {
    journalled.set(event.id, (journalled.get(event.id) ?? 0) + 1);
    if (event.id === '40017') paths.add(event.data.path);
  }
  assert.deepEqual(
    promised.uploads.filter((path) => !paths.has(path)),
    [],
    'these uploads were answered, but not journalled',
  );
  const { answered } = promised;
  for (const [id, count] of [
    ['40065', answered.moves],
    ['20085', answered.passwords],
    ['40017', answered.overwrites + promised.uploads.length],
  ] as const)
    assert.ok((journalled.get(id) ?? 0) >= count, `${journalled.get(id)} events ${id} of ${count} answered`);
  console.log(
    `crash: ${rounds} kills, ${interrupted} with something on disk half-way; answered: ${promised.uploads.length} uploads, ` +
      `${answered.overwrites} overwrites, ${answered.moves} moves between disks, ${answered.archives} archives, ${answered.passwords} passwords`,
  );
  assert.ok(interrupted > 0 && promised.uploads.length > 0, 'some kills interrupted changes, and some uploads were answered');
});
