import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { FileEventLog, journalFolder } from '../../src/events/journal/file-event-log.ts';
import { isTemporaryName, Temporaries } from '../../src/files/disk/temporaries.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLog } from '../../src/lib/log.ts';
import { start } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { readEvents } from '../support/journal.ts';
import { type Change, TracedDisk } from '../support/power-cut.ts';
import { randomFrom } from '../support/random.ts';
import { until } from '../support/receiver.ts';
import { hasProgram } from '../support/requires.ts';
import { testUser } from '../support/secrets.ts';
import { parseTrace, type SystemCall } from '../support/strace.ts';
import { temporaryFolder } from '../support/temp.ts';
import { tree } from '../support/tree.ts';

/** Number of states checked for each cut; a long run uses `SVC_POWER_STATES=1000`. */
const statesOfCut = Number(process.env.SVC_POWER_STATES ?? 12);

const seed = Number(process.env.SVC_FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** Requests, sent one after the other, each with the event that its reply promises. */
const requests: { method: string; target: string; body?: Buffer; destination?: string; overwrite?: string; event: string; path: string }[] =
  [
    { method: 'PUT', target: 'a', body: Buffer.alloc(2000, 'first '), event: '40017', path: '/a' },
    { method: 'PUT', target: 'a', body: Buffer.alloc(150_000, 'second '), event: '40017', path: '/a' },
    { method: 'PUT', target: 'b', body: Buffer.alloc(0), event: '40017', path: '/b' },
    { method: 'MKCOL', target: 'd/', event: '40010', path: '/d' },
    { method: 'COPY', target: 'a', destination: 'd/copy', event: '40068', path: '/a' },
    { method: 'MOVE', target: 'a', destination: 'd/moved', event: '40055', path: '/a' },
    { method: 'PUT', target: 'd/deep', body: Buffer.alloc(10, 'x'), event: '40017', path: '/d/deep' },
    { method: 'MOVE', target: 'b', destination: 'd/moved', event: '40055', path: '/b' },
    { method: 'MKCOL', target: 'e/', event: '40010', path: '/e' },
    { method: 'PUT', target: 'e/inner', body: Buffer.alloc(30, 'e'), event: '40017', path: '/e/inner' },
    { method: 'MOVE', target: 'd/', destination: 'e/', overwrite: 'T', event: '40065', path: '/d' },
    { method: 'DELETE', target: 'e/copy', event: '40012', path: '/e/copy' },
    { method: 'PUT', target: 'last', body: Buffer.alloc(5, 'l'), event: '40017', path: '/last' },
  ];

/** Returns the visible files and folders, with their content. */
function visible(folder: string): string {
  const entries = existsSync(folder) ? Object.entries(tree(folder)) : [];
  return JSON.stringify(entries.filter(([path]) => !path.split('/').some(isTemporaryName)).sort());
}

interface Run {
  folder: string;
  calls: SystemCall[];
  /** The tree before the first request, and after each. */
  trees: string[];
}

async function traced(t: TestContext): Promise<Run> {
  const folder = join(temporaryFolder(t), 'place');
  const trace = `${folder}.trace`;
  const shell = ['-c', 'mkdir "$0" && cd "$0" && exec "$@"', folder];
  const filter =
    'trace=openat,close,write,writev,pwrite64,fsync,fdatasync,ftruncate,rename,link,mkdir,unlink,rmdir,renameat,renameat2,linkat,unlinkat,mkdirat,copy_file_range,sendfile,truncate';
  const under = ['sh', ...shell, 'strace', '-D', '-f', '-y', '-xx', '-s', '300000', '-o', trace, '-e', filter];
  const server = start(t, ['serve', '--port', '0', '--user', testUser, '--log-level', 'error'], { cwd: tmpdir(), under });
  const client = new Client((await server.line(/(http:\S+)\/\n/))[1] ?? '');
  const headers = { authorization: `session ${await client.login()}` };
  const trees = [visible(join(folder, 'files'))];
  for (const { method, target, body, destination, overwrite } of requests) {
    const more =
      destination === undefined ? {} : { destination: `/home/${destination}`, ...(overwrite === undefined ? {} : { overwrite }) };
    const reply = await client.send(method, `/home/${target}`, { user: null, headers: { ...headers, ...more }, ...(body ? { body } : {}) });
    assert.ok(reply.status < 300, `${method} ${target}: ${reply.text}`);
    trees.push(visible(join(folder, 'files')));
  }
  server.child.kill('SIGTERM');
  assert.equal((await server.ended).code, 0);
  let calls: SystemCall[] = [];
  await until('the trace is whole', () => {
    calls = parseTrace(readFileSync(trace, 'latin1'));
    return new TracedDisk(folder, calls).answers.length === requests.length + 1;
  });
  return { folder, calls, trees };
}

/** Recovers a state of the disk, as a start of the service does. @returns the files and events that exist then */
async function recovered(folder: string): Promise<{ tree: string; events: Map<string, number>; withoutGroup: string[] }> {
  const data = join(folder, 'svc-data');
  const events = new Map<string, number>();
  const withoutGroup: string[] = [];
  if (existsSync(data)) {
    new Temporaries(data, silentLog).close();
    const options = { folder: journalFolder(data), maximumFileSizeBytes: 1e9, retentionDays: 30, clock: systemClock, log: silentLog };
    await new FileEventLog(options).close();
    for await (const { event, group } of readEvents(journalFolder(data), undefined, () => {})) {
      const key = `${event.id} ${event.data.path}`;
      events.set(key, (events.get(key) ?? 0) + 1);
      if (group === undefined) withoutGroup.push(key);
    }
  }
  return { tree: visible(join(folder, 'files')), events, withoutGroup };
}

interface Looked {
  /** The description of the first wrong state; undefined if all are right. */
  problem: string | undefined;
  states: number;
  cuts: number;
  maxUnsynced: number;
}

async function lookAtStates(t: TestContext, { folder: traced, calls, trees }: Run, ofCut = statesOfCut): Promise<Looked> {
  const disk = new TracedDisk(traced, calls);
  const shared = statSync('/dev/shm', { throwIfNoEntry: false });
  const place = mkdtempSync(join(shared ? '/dev/shm' : tmpdir(), 'svc-power-'));
  t.after(() => rmSync(place, { recursive: true, force: true }));
  // The first reply is that of the login.
  const answers = disk.answers.slice(1);
  const cuts = disk.cuts(disk.answers[0]?.at ?? 0);
  const random = randomFrom(seed);
  const looked: Looked = { problem: undefined, states: 0, cuts: cuts.length, maxUnsynced: 0 };
  for (let number = 0; number < ofCut; number++) {
    for (const cut of cuts) {
      const unsynced = disk.unsyncedAt(cut);
      looked.maxUnsynced = Math.max(looked.maxUnsynced, unsynced.length);
      const choices = chosen(unsynced, number, random);
      const folder = join(place, `${looked.states++}`);
      disk.writeState(folder, cut, (change) => choices.get(change) ?? false);
      const answered = answers.filter(({ at }) => at <= cut).length;
      const wrong = problemOf(await recovered(folder), trees, answered);
      rmSync(folder, { recursive: true });
      if (wrong === undefined) continue;
      const onDisk = [...choices].map(([{ what }, kept]) => `${kept} ${what}`).join('\n');
      return { ...looked, problem: `${wrong}; seed ${seed}, cut at ${cut} with ${answered} answered; on disk:\n${onDisk}` };
    }
  }
  return looked;
}

/** Chooses the changes that reached the disk: none, all, all but one of the newest, or random sets with torn writes. */
function chosen(unsynced: readonly Change[], number: number, random: () => number): Map<Change, boolean | 'torn'> {
  const without = unsynced.at(-1 - Math.floor(random() * 4));
  const share = random();
  return new Map(
    unsynced.map((change) => {
      const isKept = number === 0 ? false : number === 1 ? true : number % 3 === 0 ? change !== without : random() < share;
      return [change, isKept && number > 1 && random() < 0.2 ? 'torn' : isKept];
    }),
  );
}

function problemOf(found: Awaited<ReturnType<typeof recovered>>, trees: readonly string[], answered: number): string | undefined {
  if (![trees[answered], trees[answered + 1]].includes(found.tree)) return `a mixed tree: ${found.tree.slice(0, 300)}`;
  const promised = requests.slice(0, answered).map(({ event, path }) => `${event} ${path}`);
  for (const key of promised) {
    if ((found.events.get(key) ?? 0) < promised.filter((one) => one === key).length) return `the event ${key} is lost`;
    if (found.withoutGroup.includes(key)) return `the group of ${key} is lost`;
  }
  return undefined;
}

test('if a power cut drops any unsynced data, answered changes and their events are still there, and nothing is mixed', {
  timeout: 7_000_000,
}, async (t) => {
  if (!hasProgram(t, 'strace')) return;
  const run = await traced(t);
  const { problem, states, cuts, maxUnsynced } = await lookAtStates(t, run);
  assert.equal(problem, undefined);
  console.log(`power cut: ${states} states of ${cuts} cuts, up to ${maxUnsynced} unsynced changes at once (seed ${seed})`);
  assert.ok(maxUnsynced > 3);
  // Each sync is necessary: without it, the same check finds a loss.
  for (const [what, file] of [
    ['the content of uploads', /\.part/],
    ['names in folders', /\/files>/],
    ['the journal', /events-\d+\.ndjson/],
    ['the marks of the journal', /events-\d+\.marks/],
    ['the names of the journal', /\/journal>/],
    ['the notes about items that a move sets aside', /uploads-under-way/],
  ] as const) {
    const without = run.calls.filter(({ name, args }) => !/sync$/.test(name) || !file.test(String(args[0])));
    assert.ok(without.length < run.calls.length, what);
    assert.notEqual((await lookAtStates(t, { ...run, calls: without }, 60)).problem, undefined, `without syncs of ${what}`);
  }
});
