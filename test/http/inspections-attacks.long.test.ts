import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestReply } from '../support/client.ts';
import { control } from '../support/control.ts';
import { createTus } from '../support/doors.ts';
import { heldOf, hidden, inspecting, visible } from '../support/inspecting.ts';
import { startInspector } from '../support/inspector.ts';
import { json, type NewLink, visit } from '../support/links.ts';
import { multipart } from '../support/multipart.ts';
import { until } from '../support/receiver.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { WatchedRequest } from '../support/watched-request.ts';

const move = (server: TestServer, from: string, to: string) =>
  server.send('MOVE', `/home${from}`, { headers: { destination: `/home${to}` } });

/** Returns all visible files below a folder. */
function files(folder: string): string[] {
  return visible(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() ? files(path) : [path];
  });
}

test('if a folder moves during a late inspection of its file, the inspections of the new place apply, too', async (t) => {
  const [slow, strict] = [await startInspector(t), await startInspector(t)];
  const server = await startServer(t, {
    inspections: {
      slow: { type: 'http', url: slow.url, answer_within: 0.1 },
      strict: { type: 'http', url: strict.url },
    },
    group: { inspections: [[], ['/slow/*', 'slow'], ['/in/*', 'strict']] },
  });
  for (const folder of ['slow/sub', 'in']) mkdirSync(join(server.home, folder), { recursive: true });
  assert.equal((await server.put('/home/slow/sub/x', 'wait')).status, 202);
  strict.decide = () => ({ status: 422 });
  assert.equal((await move(server, '/slow/sub/', '/in/sub/')).status, 201);
  slow.answerAll(204);
  await until('the upload is no longer held', async () => (await heldOf(server)).length === 0);
  assert.deepEqual(files(join(server.home, 'in')), []);
  assert.equal(strict.requests.length, 1);
});

test('if a move is withdrawn and the old name is taken, the file gets no numbered name in an inspected folder', async (t) => {
  const inspector = await startInspector(t);
  const server = await startServer(t, {
    inspections: { check: { type: 'http', url: inspector.url } },
    group: { inspections: [['check'], ['/x']] },
  });
  await server.put('/home/x', 'odd');
  assert.equal((await move(server, '/x', '/y')).status, 202);
  await server.put('/home/x', 'other');
  const [item] = await heldOf(server);
  assert.equal((await server.send('DELETE', `/home/__svc__/held/${item?.id}`)).status, 503);
  assert.deepEqual(visible(server.home), ['x']);
  assert.equal((await heldOf(server)).length, 1);
  assert.equal((await server.send('DELETE', '/home/x')).status, 204);
  assert.equal((await server.send('DELETE', `/home/__svc__/held/${item?.id}`)).status, 204);
  assert.equal(readFileSync(join(server.home, 'x'), 'utf8'), 'odd');
});

test('if the folder of a running upload moves into an inspected folder, the upload is inspected there', async (t) => {
  const server = await inspecting(t);
  mkdirSync(join(server.home, 'free'));
  const upload = new WatchedRequest(server, 'PUT', '/home/free/x', { 'transfer-encoding': 'chunked' });
  await upload.write(Buffer.from('b'));
  await until('the upload has begun', () => hidden(join(server.home, 'free')).length === 1);
  assert.equal((await move(server, '/free/', '/d/sub/')).status, 201);
  assert.equal((await upload.end(Buffer.from('ad'))).status, 422);
  assert.deepEqual(files(join(server.home, 'd')), []);
  assert.deepEqual(hidden(join(server.home, 'd/sub')), []);
});

test('the trash records the right path of a file that was replaced after its folder had moved', async (t) => {
  const server = await inspecting(t, {}, { group: { trash: { days: 1 } } });
  mkdirSync(join(server.home, 'd/sub'));
  const upload = new WatchedRequest(server, 'PUT', '/home/d/sub/x', { 'transfer-encoding': 'chunked' });
  await upload.write(Buffer.from('fi'));
  await until('the upload has begun', () => hidden(join(server.home, 'd/sub')).length === 1);
  assert.equal((await move(server, '/d/sub/', '/free/')).status, 201);
  assert.equal((await server.put('/home/free/x', 'bad')).status, 201);
  assert.equal((await upload.end(Buffer.from('ne'))).status, 201);
  const { trash } = (await server.send('GET', '/home/__svc__/trash')).json<{ trash: { id: string; path: string }[] }>();
  assert.deepEqual(
    trash.map(({ path }) => path),
    ['/free/x'],
  );
  const body = JSON.stringify({ path: '/d/x' });
  const headers = { 'content-type': 'application/json' };
  assert.equal((await server.send('POST', `/home/__svc__/trash/${trash[0]?.id}/restore`, { headers, body })).status, 422);
  assert.deepEqual(files(join(server.home, 'd')), []);
});

test('a replaced folder is not put back if its parent has moved to a place with more inspections: it stays in the trash', async (t) => {
  const [slow, strict] = [await startInspector(t), await startInspector(t)];
  const server = await startServer(t, {
    inspections: { slow: { type: 'http', url: slow.url }, strict: { type: 'http', url: strict.url } },
    group: { inspections: [[], ['/slow/*', 'slow'], ['/in/*', 'strict']], trash: { days: 1 } },
    service: { webdav_compatibility: true },
  });
  for (const folder of ['slow/sub/x', 'in']) mkdirSync(join(server.home, folder), { recursive: true });
  writeFileSync(join(server.home, 'slow/sub/x/y'), 'bad');
  writeFileSync(join(server.home, 'new'), 'wait');
  const copied = server.send('COPY', '/home/new', { headers: { destination: '/home/slow/sub/x', overwrite: 'T' } });
  await until('the inspection is asked', () => slow.requests.length === 1);
  assert.equal((await move(server, '/slow/sub/', '/in/sub/')).status, 201);
  slow.answerAll(422);
  assert.equal((await copied).status, 422);
  assert.deepEqual(files(join(server.home, 'in')), []);
  const { trash } = (await server.send('GET', '/home/__svc__/trash')).json<{ trash: { path: string }[] }>();
  assert.equal(trash.length, 1, 'the replaced folder is in the trash');
});

test('content written through a symbolic link into an inspected folder is inspected under the name of the target', async (t) => {
  const server = await inspecting(t);
  writeFileSync(join(server.home, 'd/x'), 'old');
  symlinkSync('d/x', join(server.home, 'link'));
  assert.equal((await server.put('/home/link', 'bad')).status, 422);
  writeFileSync(join(server.home, 'spare'), 'bad');
  assert.equal((await server.send('COPY', '/home/spare', { headers: { destination: '/home/link' } })).status, 422);
  assert.equal(readFileSync(join(server.home, 'd/x'), 'utf8'), 'old');
});

test('a tus upload that another request takes over during its inspection gets its name at most once', async (t) => {
  const server = await inspecting(t);
  const begun = await createTus(server, { path: '/d/x' }, { 'upload-length': '8' });
  const url = String(begun.headers.location);
  const tus = { 'tus-resumable': '1.0.0', 'content-type': 'application/offset+octet-stream' };
  const patch = (offset: number, body: string) => server.send('PATCH', url, { body, headers: { ...tus, 'upload-offset': String(offset) } });
  // A request whose upload is taken over is cut.
  const statusOf = (reply: Promise<TestReply>) => reply.then(({ status }) => status).catch(() => 0);
  const first = statusOf(patch(0, 'wait for'));
  await until('the inspection is asked', () => server.inspector.requests.length === 1);
  const second = statusOf(patch(0, 'not this'));
  const asked = statusOf(server.send('HEAD', url, { headers: tus }));
  server.inspector.decide = ({ body }) => ({ status: String(body) === 'not this' ? 422 : 204 });
  server.inspector.answerAll(204);
  const statuses = await Promise.all([first, second, asked]);
  const text = files(join(server.home, 'd')).map((path) => readFileSync(path, 'utf8'));
  assert.ok(text.length <= 1 && !text.includes('not this'), `${statuses}: ${text}`);
});

test('random concurrent changes: nothing that an inspection refuses is ever visible', async (t) => {
  const server = await inspecting(t, {}, { group: { trash: { days: 1 } } });
  const { home } = server;
  const shown = join(home, 'd');
  for (const folder of ['free/sub', 'd/sub']) mkdirSync(join(home, folder), { recursive: true });
  const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T;
  const place = () => pick(['/free/x', '/free/y', '/free/sub/x', '/d/x', '/d/y', '/d/sub/x', '/f/x']);
  const folder = () => pick(['/free/sub/', '/d/sub/', '/free/', '/f/']);
  const content = () => pick(['bad', 'fine', 'bad '.repeat(50_000)]);
  const copy = (from: string, to: string) => server.send('COPY', `/home${from}`, { headers: { destination: `/home${to}` } });
  const restore = async () => {
    const { trash } = (await server.send('GET', '/home/__svc__/trash')).json<{ trash: { id: string }[] }>();
    const headers = { 'content-type': 'application/json' };
    if (trash.length === 0) return;
    await server.send('POST', `/home/__svc__/trash/${pick(trash).id}/restore`, {
      headers,
      body: JSON.stringify({ path: place() }),
      // 500: restoring created the missing folder, and another action moved this folder before the item was in it.
      mayFail: true,
    });
  };
  const actions = [
    () => server.put(`/home${place()}`, content()),
    () => server.put(`/home${place()}`, content()),
    () => copy(place(), place()),
    () => move(server, place(), place()),
    () => move(server, folder(), folder()),
    () => server.send('DELETE', `/home${pick([place(), folder()])}`),
    () => server.send('MKCOL', `/home${folder()}`),
    restore,
  ];
  const look = () => {
    for (const path of files(shown)) {
      const text = existsSync(path) ? readFileSync(path, 'latin1') : '';
      assert.ok(!text.includes('bad'), `${path} is visible`);
    }
  };
  const seen = new Set<string>();
  const work = async () => {
    for (let round = 0; round < 60; round++) {
      await pick(actions)();
      look();
      for (const path of files(shown)) seen.add(path);
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
  assert.ok(seen.size > 0, 'nothing was ever accepted');
  // A file that moved while it was read cannot be inspected, so it is held.
  const kept = readdirSync(home, { recursive: true }).filter((name) => /\.svc-(?!trash)/.test(String(name)));
  const { stdout } = await control(t, join(server.folder, 'data'), 'held', 'list', '--json');
  const paths = stdout.split('\n').flatMap((line) => (line === '' ? [] : String(JSON.parse(line).real_path)));
  const outside = (some: readonly string[]) => some.filter((path) => !path.includes('.svc-trash/')).sort();
  assert.deepEqual(outside(kept.map((name) => join(home, String(name)))), outside(paths));
});

test('files that visitors drop through a link are inspected, and the visitors learn no path of the account', async (t) => {
  const server = await inspecting(t);
  const made = await server.send('POST', '/home/__svc__/links', { headers: json, body: JSON.stringify({ path: '/d/', kind: 'drop' }) });
  assert.equal(made.status, 201, made.text);
  const at = new URL(made.json<NewLink>().url).pathname;
  const drop = async (content: string) => {
    const form = multipart([
      ['action', 'upload-file'],
      ['upload-file', content, 'name'],
    ]);
    return visit(server, 'POST', at, { headers: { ...json, accept: 'application/json', 'content-type': form.type }, body: form.body });
  };
  const refused = await drop('bad');
  assert.equal(refused.status, 422, refused.text);
  const held = await drop('odd');
  assert.equal(held.status, 202, held.text);
  for (const { text, headers } of [refused, held]) assert.doesNotMatch(`${text} ${headers.location}`, /\/d\/|\/home\//);
  assert.deepEqual(visible(join(server.home, 'd')), []);
  assert.equal((await heldOf(server)).length, 1);
  assert.equal((await drop('fine')).status < 300, true);
  assert.equal(visible(join(server.home, 'd')).length, 1);
});

test('LOCK of a free name creates no empty file if an inspection refuses or holds it', async (t) => {
  const server = await inspecting(t, {}, { service: { webdav_compatibility: true } });
  const body = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>';
  for (const verdict of [422, 202]) {
    server.inspector.decide = () => ({ status: verdict });
    const reply = await server.send('LOCK', '/home/d/free', { body, headers: { 'content-type': 'application/xml' } });
    assert.notEqual(reply.status, 201, reply.text);
    assert.deepEqual(visible(join(server.home, 'd')), []);
  }
});
