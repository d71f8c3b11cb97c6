import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { isHiddenName } from '../../src/files/disk/temporaries.ts';
import { BrokenFraming, PacketSplitter } from '../../src/ssh/sftp/packets/packet-splitter.ts';
import { packetTypes } from '../../src/ssh/sftp/packets/packets.ts';
import { readRequest } from '../../src/ssh/sftp/packets/read-request.ts';
import type { FieldWriter } from '../../src/ssh/sftp/packets/replies.ts';
import { fuzz } from '../support/fuzz.ts';
import { readReply, requestPacket } from '../support/sftp-requests.ts';
import { type TestFiles, testFiles, testSession } from '../support/sftp-session.ts';

const path = fc.constantFrom(
  'f',
  'g',
  'd',
  'd/f',
  'd/sub',
  '/',
  '..',
  '../..',
  'd/../../f',
  '~',
  '.svc-0123456789abcdef01234567.part',
  'ü',
  'g.filepart',
  'x/y',
);
const handle = fc.integer({ min: 0, max: 6 });
const place = fc.oneof(fc.nat(100), fc.nat(300_000), fc.constantFrom(2 ** 31, 2 ** 32, 2 ** 53 - 1));
const attributes = fc.record({ sizeBytes: place, mode: fc.nat(0o7777) }, { requiredKeys: [], noNullPrototype: true });

type Part = (fields: FieldWriter) => unknown;

const ofHandle = handle.map(
  (value): Part =>
    (fields) =>
      fields.handle(value),
);
const ofPath = path.map(
  (value): Part =>
    (fields) =>
      fields.text(value),
);
const ofPlace = place.map(
  (value): Part =>
    (fields) =>
      fields.uint64(value),
);
const ofLength = fc.oneof(fc.nat(100), fc.nat(300_000)).map(
  (value): Part =>
    (fields) =>
      fields.uint32(value),
);
const ofData = fc.oneof(fc.nat(50), fc.nat(70_000)).map(
  (bytes): Part =>
    (fields) =>
      fields.bytes(Buffer.alloc(bytes, 'x')),
);
const ofAttributes = attributes.map(
  (value): Part =>
    (fields) =>
      fields.attributes(value),
);
const ofFlags = fc.nat(63).map(
  (value): Part =>
    (fields) =>
      fields.uint32(value),
);
const ofHashes = fc.constantFrom('sha256', 'md5,sha1', 'crc32').map(
  (value): Part =>
    (fields) =>
      fields.text(value),
);

/** The parts of which requests of each type are made. */
const shapes: Record<number, fc.Arbitrary<Part>[]> = {
  [packetTypes.open]: [ofPath, ofFlags, ofAttributes],
  [packetTypes.close]: [ofHandle],
  [packetTypes.read]: [ofHandle, ofPlace, ofLength],
  [packetTypes.write]: [ofHandle, ofPlace, ofData],
  [packetTypes.fstat]: [ofHandle],
  [packetTypes.fsetstat]: [ofHandle, ofAttributes],
  [packetTypes.setstat]: [ofPath, ofAttributes],
  [packetTypes.opendir]: [ofPath],
  [packetTypes.readdir]: [ofHandle],
  [packetTypes.remove]: [ofPath],
  [packetTypes.mkdir]: [ofPath, ofAttributes],
  [packetTypes.rmdir]: [ofPath],
  [packetTypes.realpath]: [ofPath],
  [packetTypes.stat]: [ofPath],
  [packetTypes.lstat]: [ofPath],
  [packetTypes.rename]: [ofPath, ofPath],
  [packetTypes.symlink]: [ofPath, ofPath],
};
const extensions: Record<string, fc.Arbitrary<Part>[]> = {
  'posix-rename@openssh.com': [ofPath, ofPath],
  'lsetstat@openssh.com': [ofPath, ofAttributes],
  'statvfs@openssh.com': [ofPath],
  'fstatvfs@openssh.com': [ofHandle],
  'fsync@openssh.com': [ofHandle],
  'expand-path@openssh.com': [ofPath],
  'limits@openssh.com': [],
  'copy-data': [ofHandle, ofPlace, ofPlace, ofHandle, ofPlace],
  'check-file': [ofHandle, ofHashes, ofPlace, ofPlace, ofLength],
  'check-file-name': [ofPath, ofHashes, ofPlace, ofPlace, ofLength],
};

interface Request {
  type: number;
  parts: Part[];
}

const request: fc.Arbitrary<Request> = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(...(shapes[packetTypes.open] as [])).map((parts) => ({ type: packetTypes.open, parts })) },
  ...Object.entries(shapes).map(([type, parts]) => fc.tuple(...parts).map((made) => ({ type: Number(type), parts: made }))),
  ...Object.entries(extensions).map(([name, parts]) =>
    fc.tuple(...parts).map((made) => ({ type: packetTypes.extended, parts: [(fields: FieldWriter) => fields.text(name), ...made] })),
  ),
);

const conversation = fc.record({
  requests: fc.array(request, { minLength: 5, maxLength: 40 }),
  edits: fc.array(fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), byte: fc.nat(255), remove: fc.nat(3) }), { maxLength: 2 }),
  cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 8 }),
});

/** Returns the IDs of the requests in a stream. Each must be answered once. */
function answerable(stream: Buffer): number[] {
  const splitter = new PacketSplitter();
  splitter.push(stream);
  const ids: number[] = [];
  try {
    for (let packet = splitter.next(); packet; packet = splitter.next()) {
      const read = readRequest(packet);
      if (read.kind === 'init') continue;
      if (read.id === undefined) break;
      ids.push(read.id);
    }
  } catch (error) {
    if (!(error instanceof BrokenFraming)) throw error;
  }
  return ids;
}

function repliesIn(sent: Buffer): ReturnType<typeof readReply>[] {
  const splitter = new PacketSplitter();
  splitter.push(sent);
  const replies: ReturnType<typeof readReply>[] = [];
  for (let packet = splitter.next(); packet; packet = splitter.next())
    if (packet[0][0] !== packetTypes.version) replies.push(readReply(Buffer.concat(packet)));
  assert.equal(splitter.heldBytes, 0, 'no reply is cut off');
  return replies;
}

async function converse(t: TestContext, shared: TestFiles, stream: Buffer, cuts: readonly number[]) {
  const { client, served } = testSession(t, { copy_on_resume_limit: 100_000 }, {}, shared);
  const sent: Buffer[] = [];
  client.stream.removeAllListeners('data').on('data', (chunk: Buffer) => sent.push(chunk));
  const places = cuts.map((cut) => Math.floor(cut * stream.length)).toSorted((a, b) => a - b);
  for (const [index, to] of [...places, stream.length].entries()) {
    client.stream.write(stream.subarray(places[index - 1] ?? 0, to));
    await new Promise((resolve) => setImmediate(resolve));
  }
  client.stream.end();
  await served;
  return repliesIn(Buffer.concat(sent));
}

test('SFTP sessions: every request is answered once, without an internal error, and no temporary file is left behind', async (t) => {
  const shared = testFiles(t, { file_write_size: 1_000_000 });
  await fuzz(
    t,
    conversation,
    async ({ requests, edits, cuts }) => {
      for (const name of readdirSync(shared.home)) rmSync(join(shared.home, name), { recursive: true });
      mkdirSync(join(shared.home, 'd'));
      shared.events.length = 0;
      let stream = Buffer.concat(
        requests.map(({ type, parts }, id) => requestPacket(type, id, (fields) => parts.map((part) => part(fields)))),
      );
      for (const { at, byte, remove } of edits) {
        const where = Math.floor(at * stream.length);
        stream = Buffer.concat([stream.subarray(0, where), Buffer.from([byte]), stream.subarray(where + remove)]);
      }
      const replies = await converse(t, shared, stream, cuts);
      assert.deepEqual(
        replies.map(({ id }) => id).toSorted((a, b) => a - b),
        answerable(stream).toSorted((a, b) => a - b),
      );
      for (const reply of replies) if (reply.kind === 'status') assert.doesNotMatch(reply.message, /internal|does not accept this name/i);
      const left = readdirSync(shared.home, { recursive: true }).filter((name) => isHiddenName(basename(String(name))));
      assert.deepEqual(left, []);
      const count = (...ids: number[]) => shared.events.filter(({ id }) => ids.includes(id)).length;
      assert.equal(count(30043), count(30041, 30042, 30017, 30067, 30068), 'each opened file has one event of its end');
      assert.deepEqual(readdirSync(join(shared.home, '..')).sort(), ['data', 'home']);
    },
    { share: 0.25, each: 20 },
  );
});
