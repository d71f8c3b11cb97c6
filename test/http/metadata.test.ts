import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startServer } from '../support/server.ts';

test('the metadata of an upload is in its events', async (t) => {
  const server = await startServer(t, { service: { metadata_fields: 'x-labels' } });
  const cases: [string, unknown][] = [
    ['a=1', { a: ['1'] }],
    ['a=1, b=2, a=3', { a: ['1', '3'], b: ['2'] }],
    ['"a=x, y", b="c, ""d"""', { a: ['x, y'], b: ['c, "d"'] }],
    ['a=', { a: [''] }],
    ['a=b=c', { a: ['b=c'] }],
    ['__proto__=x', JSON.parse('{"__proto__":["x"]}')],
    [Buffer.from('ort=Köln').toString('latin1'), { ort: ['Köln'] }],
  ];
  for (const [value, metadata] of cases) {
    assert.equal((await server.put('/home/f', Buffer.from('x'), { headers: { 'x-labels': value } })).status, 201, value);
    const events = (await server.events()).slice(-2);
    assert.deepEqual(
      events.map((event) => event.id),
      ['40021', '40017'],
    );
    for (const event of events) assert.deepEqual(event.data.metadata, metadata);
  }
  assert.equal((await server.put('/home/f', 'x')).status, 201);
  assert.equal((await server.events()).at(-1)?.data.metadata, undefined);
});

test('malformed, undeclared or missing metadata is refused, and nothing is stored', async (t) => {
  const server = await startServer(t, { service: { metadata_fields: 'x-labels, required\ncustomer, required\nproject-*, optional' } });
  const refused = [undefined, '', 'customer', '=x', 'customer="x', 'customer=a"b', 'project-1=x', 'customer=1, other=2'];
  for (const value of refused) {
    const reply = await server.put('/home/f', 'x', value === undefined ? {} : { headers: { 'x-labels': value } });
    assert.equal(reply.status, 400, String(value));
  }
  assert.equal(existsSync(join(server.home, 'f')), false);
  assert.equal((await server.eventIds()).includes(40021), false);
  for (const value of ['customer=1', 'customer=1, project-9=x, PROJECT-x=y']) {
    assert.equal((await server.put('/home/f', 'x', { headers: { 'x-labels': value } })).status, 201, value);
  }
});

test('an optional header may be absent even if it has required keys', async (t) => {
  const server = await startServer(t, { service: { metadata_fields: ['x-labels, optional', 'customer, required'] } });
  assert.equal((await server.put('/home/f', 'x')).status, 201);
  assert.equal((await server.put('/home/f', 'x', { headers: { 'x-labels': 'customer=1' } })).status, 201);
});

test('the metadata of a failed upload is in event 40022', async (t) => {
  const server = await startServer(t, { service: { metadata_fields: 'x-labels' } });
  await server.put('/home/no/f', 'x', { headers: { 'x-labels': 'a=1' } });
  const event = (await server.events()).at(-1);
  assert.equal(event?.id, '40022');
  assert.deepEqual(event?.data.metadata, { a: ['1'] });
});
