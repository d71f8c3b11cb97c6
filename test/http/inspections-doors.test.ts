import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { control } from '../support/control.ts';
import { httpDoors } from '../support/doors.ts';
import { inspectedDoors } from '../support/inspected-doors.ts';
import { heldOf, hidden, inspecting, visible } from '../support/inspecting.ts';
import { refusalBody } from '../support/inspector.ts';

test('the tests below or those of tus cover every HTTP interface that creates a file', () => {
  // `draft, PUT` only begins an upload; `draft, two requests` also ends it. `tus` has its own test, because its replies differ.
  const known = new Set([...Object.keys(inspectedDoors), 'draft, PUT', 'tus, path', 'tus, filename']);
  assert.deepEqual(
    Object.keys(httpDoors).filter((door) => !known.has(door)),
    [],
  );
});

for (const [door, send] of Object.entries(inspectedDoors)) {
  const isMove = /move/i.test(door);

  test(`${door}: an accepted file is visible`, async (t) => {
    const server = await inspecting(t);
    const { status } = await send(server, 'new', 'fine');
    assert.ok(status >= 200 && status < 300 && status !== 202, String(status));
    assert.equal(readFileSync(join(server.home, 'd/new'), 'utf8'), 'fine');
    assert.equal(server.inspector.requests.length, 1);
  });

  test(`${door}: a refused file gives 422, and the old file stays`, async (t) => {
    const server = await inspecting(t);
    writeFileSync(join(server.home, 'd/name'), 'old');
    const reply = await send(server, 'name', 'bad');
    assert.equal(reply.status, 422);
    const { errors } = reply.json<{ errors: { message: string; inspection: string; response?: unknown }[] }>();
    assert.equal(errors[0]?.inspection, 'check');
    assert.match(String(errors[0]?.message), /An inspection refused the file/);
    assert.doesNotMatch(reply.text, /Not this file|r1|secret/);
    assert.deepEqual(visible(join(server.home, 'd')), ['name']);
    assert.deepEqual(hidden(join(server.home, 'd')), []);
    assert.equal(readFileSync(join(server.home, 'd/name'), 'utf8'), 'old');
    if (isMove) assert.equal(readFileSync(join(server.home, door === 'MOVE' ? 'spare' : 's/name'), 'utf8'), 'bad');
    const refused = (await server.events()).find(({ id }) => id === '40071');
    assert.equal(refused?.data.inspection, 'check');
    assert.deepEqual(refused?.data.response, refusalBody);
  });

  test(`${door}: a held file gives 202 and is invisible until it is released`, async (t) => {
    const server = await inspecting(t);
    const reply = await send(server, 'name', 'odd');
    assert.equal(reply.status, 202);
    const [item] = await heldOf(server);
    assert.equal(item?.path, '/d/name');
    assert.equal(item?.reason, 'verdict');
    assert.equal(item?.state, 'held');
    assert.equal(item?.size, 3);
    const [result] = reply.json<{ results: { target: string; held: string }[] }>().results;
    assert.equal(result?.held, item?.id);
    if (!door.startsWith('command')) {
      assert.equal(result?.target, '/d/name');
      assert.equal(reply.headers.location, `/home/__svc__/held/${item?.id}`);
    }
    assert.deepEqual(visible(join(server.home, 'd')), []);
    assert.equal((await server.send('GET', '/home/d/name')).status, 404);
    assert.deepEqual((await server.send('GET', '/home/d/', { headers: { accept: 'application/json' } })).json().content, []);
    if (isMove) assert.deepEqual(visible(join(server.home, door === 'MOVE' ? '.' : 's')), door === 'MOVE' ? ['d'] : []);
    assert.equal((await control(t, join(server.folder, 'data'), 'held', 'release', String(item?.id))).code, 0);
    assert.equal(readFileSync(join(server.home, 'd/name'), 'utf8'), 'odd');
    assert.deepEqual(hidden(join(server.home, 'd')), []);
    assert.deepEqual(await heldOf(server), []);
    const events = await server.events();
    assert.equal(events.find(({ id }) => id === '40072')?.data.held_id, item?.id);
    assert.equal(events.find(({ id }) => id === '40073')?.data.administrator, userInfo().username);
    assert.equal(events.find(({ id, data }) => id === '40017' && data.held_id !== undefined)?.data.path, '/d/name');
  });

  test(`${door}: a file that no inspection could judge is held`, async (t) => {
    const server = await inspecting(t);
    assert.equal((await send(server, 'name', 'fail')).status, 202);
    assert.deepEqual(visible(join(server.home, 'd')), []);
    assert.equal((await heldOf(server))[0]?.reason, 'failure');
    const failed = (await server.events()).find(({ id }) => id === '40075');
    assert.equal(failed?.data.inspection, 'check');
    assert.match(String(failed?.data.details), /500/);
  });
}
