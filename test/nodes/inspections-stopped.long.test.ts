import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { start } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { startInspector } from '../support/inspector.ts';
import { configPath, startNodesOnRedis } from '../support/nodes.ts';
import { until } from '../support/receiver.ts';
import { hasProgram } from '../support/requires.ts';
import { loginSftp } from '../support/sftp-client.ts';
import { makeKey } from '../support/ssh.ts';

interface Stopped {
  home: string;
  /** A node that stops for a while before each of its renames. */
  slow: Client;
  other: Client;
  /** Port of the slow node for SFTP. */
  sftpPort: number;
  /** Resolves when the slow node is about to rename an item with a matching path. */
  stopsAt(renamed: RegExp): Promise<void>;
}

/** Starts two nodes. Files below `in`, and in a folder `b` of `deep`, are inspected. */
async function startStopped(t: TestContext): Promise<Stopped | undefined> {
  if (!hasProgram(t, 'strace')) return undefined;
  const inspector = await startInspector(t);
  const config = {
    inspections: { check: { type: 'http', url: inspector.url, test_at_start: false } },
    group: { inspections: [[], ['/in/*', 'check'], ['/deep/b/*', 'check']], trash: { days: 1 } },
  };
  const begun = await startNodesOnRedis(t, 1, config);
  if (!begun) return undefined;
  const { folder, nodes } = begun;
  const home = join(folder, 'home');
  for (const name of ['in', 'deep']) mkdirSync(join(home, name));
  const own = JSON.parse(readFileSync(configPath(folder, 'n0'), 'utf8'));
  Object.assign(own.server, { name: 'slow', data_folder_path: join(folder, 'slow') });
  Object.assign(own.services, {
    sftp: { type: 'ssh', port: 0, host_key_paths: [makeKey(folder, 'host_key')], temporary_names: ['*.part'] },
  });
  writeFileSync(join(folder, 'svc.config.json'), JSON.stringify(own), { mode: 0o600 });
  const running = start(t, ['serve'], { cwd: folder });
  const port = async (scheme: string) => Number((await running.line(new RegExp(`listening on ${scheme}://[^:]+:(\\d+)`)))[1]);
  const slow = new Client(`http://127.0.0.1:${await port('http')}`);
  const sftpPort = await port('sftp');
  const trace = join(folder, 'trace');
  const inject = ['-e', 'trace=rename,link', '-e', 'inject=rename,link:delay_enter=1500000'];
  const strace = spawn('strace', ['-f', '-o', trace, ...inject, '-p', `${running.child.pid}`]);
  const attached = once(strace.stderr, 'data');
  t.after(() => strace.kill());
  await attached;
  const stopsAt = (renamed: RegExp) => until(`the rename ${renamed}`, () => renamed.test(readFileSync(trace, 'utf8')));
  return { home, slow, other: nodes[0] as Client, sftpPort, stopsAt };
}

// The reply may be 500, because a node that was stopped may treat Redis as lost.
const move = (client: Client, from: string, to: string) =>
  client.send('MOVE', `/home${from}`, { headers: { destination: `/home${to}` }, mayFail: true });

/** A login needs Redis, which a node that was stopped may briefly treat as lost. */
async function loginOnceAwake(t: TestContext, port: number) {
  let login: Awaited<ReturnType<typeof loginSftp>> | undefined;
  await until('the login is accepted', async () => {
    login = await loginSftp(t, port).catch(() => undefined);
    return login !== undefined;
  });
  return (login as NonNullable<typeof login>).sftp;
}

function files(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    const path = join(entry.parentPath, entry.name);
    return entry.isFile() && !path.includes('/.svc-') ? [path] : [];
  });
}

function makeFile(home: string, path: string, content: string): void {
  mkdirSync(join(home, path, '..'), { recursive: true });
  writeFileSync(join(home, path), content);
}

async function trashOf(client: Client): Promise<{ id: string; path: string }[]> {
  return (await client.send('GET', '/home/__svc__/trash')).json<{ trash: { id: string; path: string }[] }>().trash;
}

function restore(client: Client, id: string | undefined, path: string): Promise<{ status: number }> {
  const headers = { 'content-type': 'application/json' };
  return client.send('POST', `/home/__svc__/trash/${id}/restore`, { headers, body: JSON.stringify({ path }), mayFail: true });
}

test('if a folder moves to inspected paths while a node is stopped before its rename, no uninspected file appears', async (t) => {
  const stopped = await startStopped(t);
  if (!stopped) return;
  const { home, slow, other, sftpPort, stopsAt } = stopped;

  /** Each case begins at the slow node; the other node acts while the slow node is stopped. */
  const cases: Record<string, { begin: () => Promise<unknown>; at: RegExp; act: () => Promise<unknown> }> = {
    'an upload': {
      begin: () => slow.put('/home/to1/x', 'bad', { mayFail: true }),
      at: /\/to1\/\.svc-\w+\.part"|"[^"]*\.part", "[^"]*\/x"/,
      act: () => move(other, '/to1/', '/in/to1/'),
    },
    'MOVE of a file': {
      begin: () => move(slow, '/from2/a', '/to2/last2'),
      at: /\/last2"/,
      act: () => move(other, '/to2/', '/in/to2/'),
    },
    'MOVE of a file, and its new folder is moved by another program': {
      begin: () => move(slow, '/from3/a', '/to3/last3'),
      at: /\/last3"/,
      act: async () => renameSync(join(home, 'to3'), join(home, 'in/to3')),
    },
    'MOVE of a file, and its old folder has other content meanwhile': {
      begin: () => move(slow, '/in/from4/first4', '/in/last4'),
      at: /\/first4"/,
      act: async () => {
        await move(other, '/in/from4/', '/free4/');
        await other.put('/home/free4/first4', 'bad');
      },
    },
    'MOVE of a file, and meanwhile a folder has its old name': {
      begin: () => move(slow, '/from5/first5', '/deep/b'),
      at: /\/first5"/,
      act: async () => {
        await other.send('DELETE', '/home/from5/first5');
        await other.send('MKCOL', '/home/from5/first5/');
        await other.put('/home/from5/first5/c', 'bad');
      },
    },
    'MOVE of a folder': {
      begin: () => move(slow, '/from6/dir/', '/to6/last6/'),
      at: /\/last6"/,
      act: () => move(other, '/to6/', '/in/to6/'),
    },
    'MOVE of a folder, and its new folder is moved by another program': {
      begin: () => move(slow, '/from7/dir/', '/to7/last7/'),
      at: /\/last7"/,
      act: async () => renameSync(join(home, 'to7'), join(home, 'in/to7')),
    },
    'RENAME of a temporary name over SFTP': {
      begin: async () => (await loginOnceAwake(t, sftpPort)).rename('/to8/last8.part', '/to8/last8').catch(() => undefined),
      at: /\/last8"/,
      act: () => move(other, '/to8/', '/in/to8/'),
    },
    'restoring from the trash': {
      begin: async () => restore(slow, (await trashOf(other)).find(({ path }) => path === '/from9/a')?.id, '/to9/last9'),
      at: /\/last9"/,
      act: () => move(other, '/to9/', '/in/to9/'),
    },
    'deletion into the trash': {
      begin: () => slow.send('DELETE', '/home/in/from10/first10', { mayFail: true }),
      at: /\/first10"/,
      act: async () => {
        await move(other, '/in/from10/', '/free10/');
        await other.put('/home/free10/first10', 'bad');
      },
    },
  };
  for (const [path, content] of [
    ...['from2/a', 'from3/a', 'from6/dir/a', 'from7/dir/a', 'to8/last8.part', 'from9/a'].map((path) => [path, 'bad'] as const),
    ...['in/from4/first4', 'from5/first5', 'in/from10/first10'].map((path) => [path, 'fine'] as const),
  ])
    makeFile(home, path, content);
  for (const folder of ['to1', 'to2', 'to3', 'to6', 'to7', 'to9']) mkdirSync(join(home, folder));
  assert.equal((await other.send('DELETE', '/home/from9/a')).status, 204);

  const badShown = () => {
    const shown = files(join(home, 'in'));
    if (existsSync(join(home, 'deep/b/c'))) shown.push(join(home, 'deep/b/c'));
    return shown.filter((path) => readFileSync(path, 'utf8').includes('bad'));
  };
  for (const [name, { begin, at, act }] of Object.entries(cases)) {
    await until('the node is ready', async () => (await slow.send('GET', '/home/', { mayFail: true })).status === 200);
    const begun = begin();
    await stopsAt(at);
    await act();
    await begun;
    assert.deepEqual(badShown(), [], name);
  }
  // Two files are in the trash: the one that the other node's PUT replaced, and the one that the slow node deleted. For both, the trash
  // records the path from which the file was taken, not the requested one.
  const kept = (await trashOf(other)).filter((item) => item.path.endsWith('first10'));
  for (const [index, { id }] of kept.entries()) await restore(other, id, `/in/back${index}`);
  assert.deepEqual(kept.map(({ path }) => path).sort(), ['/free10/first10', '/free10/first10']);
  assert.deepEqual(badShown(), []);

  // A file that could not be moved is at its old place.
  const left = files(home).filter((path) => readFileSync(path, 'utf8') === 'bad');
  const places = left.map((path) => path.slice(home.length + 1)).sort();
  assert.deepEqual(
    ['from3/a', 'free4/first4', 'from5/first5/c', 'from7/dir/a'].filter((path) => !places.includes(path)),
    [],
  );
  assert.equal(left.length, 8, `${places}`);
});
