import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { openFlags, packetTypes } from '../../src/ssh/sftp/packets/packets.ts';
import type { FieldWriter } from '../../src/ssh/sftp/packets/replies.ts';
import { fuzz } from '../support/fuzz.ts';
import type { SftpReply } from '../support/sftp-requests.ts';
import { type TestFiles, testFiles, testSession } from '../support/sftp-session.ts';

const { read, write, create, truncate, append } = openFlags;

/** Files that the client opens before the requests of a case. The first two are handles of one upload. */
const opened: readonly [name: string, flags: number][] = [
  ['f', read | write | create],
  ['f', read | write | append],
  ['g', read | write | create | truncate],
  ['old', read],
  ['new', write | create],
];

/** The latest time that requests set, in whole seconds. The current clock gives only later times. */
const latestTestS = 1_500_000_000;

interface Request {
  type: number;
  text: string;
  build: (fields: FieldWriter, handles: readonly Buffer[]) => void;
}

const handle = fc.nat(opened.length - 1);
const name = fc.constantFrom('f', 'g', 'old', 'new', 'f2', 'g2');
const place = fc.nat(200);
const attributes = fc.record(
  { sizeBytes: fc.nat(300), times: fc.integer({ min: 1_000_000_000, max: latestTestS }).map((s) => ({ accessedS: s, modifiedS: s })) },
  { requiredKeys: [], noNullPrototype: true },
);
const at = (handles: readonly Buffer[], index: number) => handles[index] as Buffer;

const wholeSha256 = (fields: FieldWriter) => void fields.text('sha256').uint64(0).uint64(0).uint32(0);

const ofHandle = (type: number, kind: string) =>
  handle.map((one): Request => ({ type, text: `${kind} ${one}`, build: (fields, handles) => void fields.bytes(at(handles, one)) }));
const ofName = (type: number, kind: string) =>
  name.map((one): Request => ({ type, text: `${kind} ${one}`, build: (fields) => void fields.text(one) }));

const request: fc.Arbitrary<Request> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ one: handle, place, data: fc.string({ minLength: 1, maxLength: 60 }) }).map(
      ({ one, place, data }): Request => ({
        type: packetTypes.write,
        text: `WRITE ${one} at ${place}: ${JSON.stringify(data)}`,
        build: (fields, handles) => void fields.bytes(at(handles, one)).uint64(place).bytes(Buffer.from(data)),
      }),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.record({ one: handle, place }).map(
      ({ one, place }): Request => ({
        type: packetTypes.read,
        text: `READ ${one} at ${place}`,
        build: (fields, handles) => void fields.bytes(at(handles, one)).uint64(place).uint32(100),
      }),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.record({ one: handle, attributes }).map(
      ({ one, attributes }): Request => ({
        type: packetTypes.fsetstat,
        text: `FSETSTAT ${one} ${JSON.stringify(attributes)}`,
        build: (fields, handles) => void fields.bytes(at(handles, one)).attributes(attributes),
      }),
    ),
  },
  fc.record({ name, attributes }).map(
    ({ name, attributes }): Request => ({
      type: packetTypes.setstat,
      text: `SETSTAT ${name} ${JSON.stringify(attributes)}`,
      build: (fields) => void fields.text(name).attributes(attributes),
    }),
  ),
  fc.record({ from: handle, to: handle, place }).map(
    ({ from, to, place }): Request => ({
      type: packetTypes.extended,
      text: `copy-data ${from} to ${to} at ${place}`,
      build: (fields, handles) =>
        void fields.text('copy-data').bytes(at(handles, from)).uint64(0).uint64(50).bytes(at(handles, to)).uint64(place),
    }),
  ),
  // Each file is moved only to its own second name, such as `f2` for `f`. If two uploads got one name, the order of their CLOSEs would matter.
  fc
    .record({ one: fc.constantFrom('f', 'g', 'old', 'new'), isBack: fc.boolean(), isPosix: fc.boolean() })
    .map(({ one, isBack, isPosix }) => ({ from: isBack ? `${one}2` : one, to: isBack ? one : `${one}2`, isPosix }))
    .map(
      ({ from, to, isPosix }): Request => ({
        type: isPosix ? packetTypes.extended : packetTypes.rename,
        text: `${isPosix ? 'posix-rename' : 'RENAME'} ${from} to ${to}`,
        build: (fields) => void (isPosix ? fields.text('posix-rename@openssh.com') : fields).text(from).text(to),
      }),
    ),
  handle.map(
    (one): Request => ({
      type: packetTypes.extended,
      text: `check-file ${one}`,
      build: (fields, handles) => wholeSha256(fields.text('check-file').bytes(at(handles, one))),
    }),
  ),
  name.map(
    (one): Request => ({
      type: packetTypes.extended,
      text: `check-file-name ${one}`,
      build: (fields) => wholeSha256(fields.text('check-file-name').text(one)),
    }),
  ),
  { weight: 2, arbitrary: ofHandle(packetTypes.close, 'CLOSE') },
  ofHandle(packetTypes.fstat, 'FSTAT'),
  ofName(packetTypes.stat, 'STAT'),
  ofName(packetTypes.remove, 'REMOVE'),
);

/** Returns a reply without the parts that differ between runs: the IDs, and current times. */
function comparable(reply: SftpReply): unknown {
  switch (reply.kind) {
    case 'attrs': {
      const { sizeBytes, times } = reply.attributes;
      return { sizeBytes, modifiedS: testTime(times?.modifiedS ?? 0) };
    }
    case 'data':
      return reply.data.toString();
    case 'extended':
      return reply.fields.rest().toString('hex');
    case 'status':
      return { code: reply.code, message: reply.message };
    default:
      return reply.kind;
  }
}

function testTime(seconds: number): number | 'now' {
  return seconds <= latestTestS ? seconds : 'now';
}

/** Sends the requests of a case, together or one by one. @returns all results that the client and others can see */
async function outcome(t: TestContext, shared: TestFiles, requests: readonly Request[], isTogether: boolean): Promise<unknown> {
  for (const name of readdirSync(shared.home)) rmSync(join(shared.home, name));
  for (const name of ['f', 'old']) writeFileSync(join(shared.home, name), `old content of ${name} `.repeat(5));
  shared.events.length = 0;
  const { client, served } = testSession(t, {}, {}, shared);
  const handles: Buffer[] = [];
  for (const [name, flags] of opened) handles.push(await client.open(name, flags));
  const ask = ({ type, build }: Request) => client.ask(type, (fields) => build(fields, handles));
  const replies: SftpReply[] = [];
  if (isTogether) replies.push(...(await Promise.all(requests.map(ask))));
  else for (const request of requests) replies.push(await ask(request));
  await Promise.all(handles.map((each) => client.close(each)));
  client.stream.end();
  await served;
  const files = readdirSync(shared.home).map((name) => {
    const path = join(shared.home, name);
    return [name, readFileSync(path, 'utf8'), testTime(Math.floor(statSync(path).mtimeMs / 1000))];
  });
  const events = shared.events.map(({ id, data }) => `${id} ${data.path}`);
  return { replies: replies.map((reply, index) => [requests[index]?.text, comparable(reply)]), files, events: events.sort() };
}

test('SFTP sessions: requests that arrive together have the same results as one after the other', async (t) => {
  const shared = testFiles(t);
  await fuzz(
    t,
    fc.array(request, { minLength: 2, maxLength: 12 }),
    async (requests) => assert.deepEqual(await outcome(t, shared, requests, true), await outcome(t, shared, requests, false)),
    { each: 7 },
  );
});
