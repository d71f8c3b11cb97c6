import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openFlags, packetTypes, statusCodes } from '../../../src/ssh/sftp/packets/packets.ts';
import { testSession } from '../../support/sftp-session.ts';

const { ok, failure } = statusCodes;
const { read, write, create, truncate, append } = openFlags;
const limitBytes = 10;
const old = 'more than ten bytes';

type Options = Parameters<typeof testSession>[1];

/** Opens a session on a home folder with `large`, above the limit, and `small`. */
function inPlaceSession(t: TestContext, options: Options = {}, group: Parameters<typeof testSession>[2] = {}) {
  const session = testSession(t, { copy_on_resume_limit: limitBytes, ...options }, group);
  const path = (name: string) => join(session.home, name);
  writeFileSync(path('large'), old);
  writeFileSync(path('small'), 'ten bytes.');
  const { ino } = statSync(path('large'));
  return { ...session, path, ino, text: (name: string) => readFileSync(path(name), 'utf8') };
}

const told = (events: { id: number; data: Record<string, unknown> }[]) =>
  events.map(({ id, data }) => [id, data.path, data.total_write, data.in_place]);

test('a file above the limit is resumed in place: others see it grow, and the event of the upload has in_place', async (t) => {
  const { client, home, events, path, ino, text } = inPlaceSession(t);
  const handle = await client.open('large', write | create);
  assert.equal(await client.write(handle, old.length, ', resumed'), ok);
  assert.equal(text('large'), `${old}, resumed`);
  assert.deepEqual(readdirSync(home), ['large', 'small'], 'there is no copy');
  assert.equal(await client.close(handle), ok);
  assert.equal(statSync(path('large')).ino, ino);
  const appending = await client.open('large', write | append);
  assert.equal(await client.write(appending, 0, '!'), ok);
  assert.equal(await client.close(appending), ok);
  assert.equal(text('large'), `${old}, resumed!`);
  // A file of exactly the limit is copied, and a file that is truncated on opening is replaced.
  for (const [name, flags] of [
    ['small', write],
    ['large', write | create | truncate],
  ] as const) {
    const copied = await client.open(name, flags);
    const before = text(name);
    assert.equal(await client.write(copied, 0, 'new'), ok);
    assert.equal(text(name), before, name);
    assert.equal(await client.close(copied), ok);
  }
  assert.deepEqual([text('small'), text('large')], ['new bytes.', 'new']);
  assert.deepEqual(told(events), [
    [30043, '/large', undefined, undefined],
    [30068, '/large', 9, 'yes'],
    [30043, '/large', undefined, undefined],
    [30068, '/large', 1, 'yes'],
    [30043, '/small', undefined, undefined],
    [30068, '/small', 3, undefined],
    [30043, '/large', undefined, undefined],
    [30068, '/large', 3, undefined],
  ]);
});

for (const partial of ['remove', 'keep'] as const) {
  test(`an aborted upload leaves the written part in the file, and under no other name (partial_uploads: ${partial})`, async (t) => {
    const { client, home, events, text, lose, served } = inPlaceSession(t, { partial_uploads: partial });
    const handle = await client.open('large', write);
    assert.equal(await client.write(handle, 0, 'MORE'), ok);
    lose();
    await served;
    assert.equal(text('large'), `MORE${old.slice(4)}`);
    assert.deepEqual(readdirSync(home), ['large', 'small']);
    assert.deepEqual(told(events), [
      [30043, '/large', undefined, undefined],
      [30042, '/large', 4, 'yes'],
    ]);
    assert.equal(events.at(-1)?.data.kept_as, undefined);
  });
}

test('an upload that is resumed after an abort becomes whole, and one event reports it', async (t) => {
  const first = inPlaceSession(t);
  const rest = ' and the rest of it';
  await first.client.write(await first.client.open('large', write), old.length, rest.slice(0, 5));
  first.lose();
  await first.served;
  const { client } = testSession(t, { copy_on_resume_limit: limitBytes }, {}, first);
  const { sizeBytes } = (await client.stat('large')) as { sizeBytes: number };
  assert.equal(sizeBytes, old.length + 5);
  const handle = await client.open('large', read | write);
  assert.equal(await client.write(handle, sizeBytes, rest.slice(5)), ok);
  assert.equal(String(await client.read(handle, 0, 100)), old + rest);
  assert.equal(await client.close(handle), ok);
  assert.equal(first.text('large'), old + rest);
  assert.deepEqual(
    first.events.map(({ id }) => id),
    [30043, 30042, 30043, 30068],
  );
});

test('a file can be truncated, renamed and removed during an upload in place', async (t) => {
  const { client, home, ino, path, text, events } = inPlaceSession(t);
  const handle = await client.open('large', write);
  assert.equal(await client.status(packetTypes.fsetstat, (fields) => fields.bytes(handle).attributes({ sizeBytes: 4 })), ok);
  assert.equal(text('large'), 'more');
  assert.equal(await client.rename('large', 'renamed'), ok);
  assert.equal(await client.write(handle, 4, ' bytes'), ok);
  assert.equal(((await client.stat('renamed')) as { sizeBytes: number }).sizeBytes, 10);
  assert.equal(await client.close(handle), ok);
  assert.deepEqual([text('renamed'), statSync(path('renamed')).ino], ['more bytes', ino]);
  writeFileSync(path('large'), old);
  const removed = await client.open('large', write);
  assert.equal(await client.write(removed, 0, 'MORE'), ok);
  assert.equal(await client.onPath(packetTypes.remove, 'large'), ok);
  assert.equal(await client.write(removed, 4, 'nowhere'), ok);
  assert.equal(await client.close(removed), ok);
  assert.deepEqual(readdirSync(home), ['renamed', 'small']);
  assert.deepEqual(
    events.map(({ id, data }) => [id, data.path]),
    [
      [30043, '/large'],
      [30026, '/large'],
      [30068, '/renamed'],
      [30043, '/large'],
      [30023, '/large'],
      [30042, '/large'],
    ],
  );
});

test('limits of files and of the account also apply in place, and what an aborted upload wrote counts for the quota', async (t) => {
  const { client, text, lose, served, ...shared } = inPlaceSession(t, {}, { quota_size: 100, file_write_size: 50 });
  const handle = await client.open('large', write);
  assert.equal(await client.write(handle, 45, 'too long'), failure);
  assert.equal(await client.close(handle), failure);
  assert.equal(text('large'), old);
  for (const name of ['second', 'third']) await client.put(name, 'x'.repeat(30));
  const again = await client.open('large', write);
  assert.equal(await client.write(again, old.length, 'x'.repeat(12)), failure, 'the quota is exceeded');
  assert.equal(await client.close(again), failure);
  assert.equal(text('large'), old);
  const fits = await client.open('large', write);
  assert.equal(await client.write(fits, old.length, 'x'.repeat(8)), ok);
  assert.equal(await client.close(fits), ok);
  const broken = await client.open('large', write);
  assert.equal(await client.write(broken, old.length + 8, 'x'.repeat(3)), ok);
  lose();
  await served;
  const { client: next } = testSession(t, {}, {}, shared);
  await assert.rejects(next.put('fourth', 'x'), /Uploading failed: 4, 4/);
  assert.equal(await next.onPath(packetTypes.remove, 'second'), ok);
  await next.put('fourth', 'x'.repeat(30));
});
