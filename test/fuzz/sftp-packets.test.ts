import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BrokenFraming, maxPacketBytes, PacketSplitter } from '../../src/ssh/sftp/packets/packet-splitter.ts';
import { type Attributes, packetTypes } from '../../src/ssh/sftp/packets/packets.ts';
import { readRequest, type SftpRequest } from '../../src/ssh/sftp/packets/read-request.ts';
import { FieldWriter } from '../../src/ssh/sftp/packets/replies.ts';
import { fuzz } from '../support/fuzz.ts';
import { readReply, requestPacket } from '../support/sftp-requests.ts';

const uint32 = fc.oneof(fc.nat(64), fc.nat(0xffff_ffff));
const uint64 = fc.oneof(fc.nat(1000), fc.nat(Number.MAX_SAFE_INTEGER));
const path = fc.oneof(
  fc.constantFrom('/', '.', '', '/a b', '../x', '/ü/😀', '/%25#?&'),
  fc
    .array(
      fc.integer({ min: 1, max: 0x10ffff }).filter((point) => point < 0xd800 || point > 0xdfff),
      { maxLength: 6 },
    )
    .map((points) => String.fromCodePoint(...points)),
);
const attributes: fc.Arbitrary<Attributes> = fc.record(
  {
    sizeBytes: uint64,
    owner: fc.record({ uid: uint32, gid: uint32 }, { noNullPrototype: true }),
    mode: uint32,
    times: fc.record({ accessedS: uint32, modifiedS: uint32 }, { noNullPrototype: true }),
  },
  { requiredKeys: [], noNullPrototype: true },
);
const data = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes));

interface Sample {
  request: SftpRequest;
  bytes: Buffer;
}

const handleKinds = { close: packetTypes.close, fstat: packetTypes.fstat, readdir: packetTypes.readdir } as const;
const pathKinds = {
  stat: packetTypes.stat,
  lstat: packetTypes.lstat,
  opendir: packetTypes.opendir,
  remove: packetTypes.remove,
  rmdir: packetTypes.rmdir,
  realpath: packetTypes.realpath,
  readlink: packetTypes.readlink,
} as const;

const anySample: fc.Arbitrary<Sample> = fc.oneof(
  fc.record({ id: uint32, path, flags: fc.nat(63), attributes }).map((open) => ({
    request: { kind: 'open', ...open } as const,
    bytes: requestPacket(packetTypes.open, open.id, (fields) => fields.text(open.path).uint32(open.flags).attributes(open.attributes)),
  })),
  fc.record({ id: uint32, handle: uint32, offset: uint64, length: uint32 }).map((read) => ({
    request: { kind: 'read', ...read } as const,
    bytes: requestPacket(packetTypes.read, read.id, (fields) => fields.handle(read.handle).uint64(read.offset).uint32(read.length)),
  })),
  fc.record({ id: uint32, handle: uint32, offset: uint64, data }).map(({ data, ...write }) => ({
    request: { kind: 'write', ...write, data: [data], lengthBytes: data.length } as SftpRequest,
    bytes: requestPacket(packetTypes.write, write.id, (fields) => fields.handle(write.handle).uint64(write.offset).bytes(data)),
  })),
  fc.record({ kind: fc.constantFrom('close', 'fstat', 'readdir'), id: uint32, handle: uint32 }).map((request) => ({
    request,
    bytes: requestPacket(handleKinds[request.kind], request.id, (fields) => fields.handle(request.handle)),
  })),
  fc
    .record({ kind: fc.constantFrom(...(Object.keys(pathKinds) as (keyof typeof pathKinds)[])), id: uint32, path })
    .map((request) => ({ request, bytes: requestPacket(pathKinds[request.kind], request.id, (fields) => fields.text(request.path)) })),
  fc.record({ kind: fc.constantFrom('setstat', 'mkdir'), id: uint32, path, attributes }).map((request) => ({
    request,
    bytes: requestPacket(packetTypes[request.kind], request.id, (fields) => fields.text(request.path).attributes(request.attributes)),
  })),
  fc.record({ kind: fc.constantFrom('rename', 'symlink'), id: uint32, path, otherPath: path }).map((request) => ({
    request,
    bytes: requestPacket(packetTypes[request.kind], request.id, (fields) => fields.text(request.path).text(request.otherPath)),
  })),
);

/** The samples without the prototypes of fast-check's records, for comparisons. */
const sample = anySample.map(({ request, bytes }): Sample => ({ request: { ...request }, bytes }));

/** Returns the request with the pieces of its data joined, for comparisons. */
function whole(request: SftpRequest): SftpRequest {
  return request.kind === 'write' ? { ...request, data: [Buffer.concat(request.data)] } : request;
}

/** Passes a stream in pieces, cut at the given fractions, and reads all requests. */
function readInPieces(stream: Buffer, cuts: readonly number[]): SftpRequest[] {
  const places = cuts.map((cut) => Math.floor(cut * stream.length)).toSorted((a, b) => a - b);
  const splitter = new PacketSplitter();
  const requests: SftpRequest[] = [];
  let from = 0;
  for (const to of [...places, stream.length]) {
    splitter.push(stream.subarray(from, to));
    from = to;
    for (let packet = splitter.next(); packet; packet = splitter.next()) requests.push(readRequest(packet));
  }
  return requests;
}

const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 });

test('SFTP packets: written requests are read, wherever the stream is cut', (t) =>
  fuzz(
    t,
    fc.record({ samples: fc.array(sample, { minLength: 1, maxLength: 10 }), cuts }),
    ({ samples, cuts }) => {
      const read = readInPieces(Buffer.concat(samples.map(({ bytes }) => bytes)), cuts);
      assert.deepEqual(
        read.map(whole),
        samples.map(({ request }) => request),
      );
    },
    { share: 4, each: 5 },
  ));

test('SFTP packets: bytes after the last field change nothing', (t) =>
  fuzz(t, fc.record({ sample, more: data, cuts }), ({ sample, more, cuts }) => {
    const bytes = Buffer.concat([sample.bytes, more]);
    bytes.writeUInt32BE(bytes.length - 4, 0);
    assert.deepEqual(readInPieces(bytes, cuts).map(whole), [sample.request]);
  }));

test('SFTP packets: a packet that ends early is malformed, and the following ones are still read', (t) =>
  fuzz(
    t,
    fc.record({ sample, next: sample, at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }) }),
    ({ sample, next, at }) => {
      const end = 5 + Math.floor(at * (sample.bytes.length - 5));
      const cut = Buffer.from(sample.bytes.subarray(0, end));
      cut.writeUInt32BE(cut.length - 4, 0);
      const [first, second, ...others] = readInPieces(Buffer.concat([cut, next.bytes]), []);
      assert.equal(first?.kind, 'malformed');
      assert.equal(first.id, end < 9 ? undefined : cut.readUInt32BE(5));
      assert.deepEqual(whole(second as SftpRequest), next.request);
      assert.deepEqual(others, []);
    },
  ));

const damagedStream = fc.record({
  samples: fc.array(sample, { minLength: 1, maxLength: 8 }),
  edits: fc.array(fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), byte: fc.nat(255), remove: fc.nat(3) }), { maxLength: 5 }),
  cuts,
});

test('SFTP packets: a damaged stream gives requests or a framing error, never another error', (t) =>
  fuzz(
    t,
    damagedStream,
    ({ samples, edits, cuts }) => {
      let stream = Buffer.concat(samples.map(({ bytes }) => bytes));
      for (const { at, byte, remove } of edits) {
        const place = Math.floor(at * stream.length);
        stream = Buffer.concat([stream.subarray(0, place), Buffer.from([byte]), stream.subarray(place + remove)]);
      }
      try {
        for (const request of readInPieces(stream, cuts)) {
          if (request.kind === 'write') assert.equal(Buffer.concat(request.data).length, request.lengthBytes);
          if ('path' in request) assert.ok(request.path.isWellFormed() && !request.path.includes('\0'));
        }
      } catch (error) {
        assert.ok(error instanceof BrokenFraming, String((error as Error).stack));
      }
    },
    { share: 4, each: 5 },
  ));

test('SFTP packets: attributes of a reply are read as they were written', (t) =>
  fuzz(t, fc.record({ id: uint32, attributes }), ({ id, attributes }) => {
    const packet = new FieldWriter(packetTypes.attrs, 8).uint32(id).attributes(attributes).end();
    assert.equal(packet.readUInt32BE(0), packet.length - 4);
    assert.deepEqual(readReply(packet.subarray(4)), { kind: 'attrs', id, attributes });
  }));

test('SFTP packets: a stream of single bytes is joined into few pieces', () => {
  const content = Buffer.alloc(200 * 1024, 7);
  const bytes = requestPacket(packetTypes.write, 1, (fields) => fields.handle(0).uint64(0).bytes(content));
  const splitter = new PacketSplitter();
  for (const byte of bytes) splitter.push(Buffer.from([byte]));
  const packet = splitter.next();
  assert.ok(packet && packet.length < 100, `${packet?.length} pieces`);
  assert.deepEqual(whole(readRequest(packet)), {
    kind: 'write',
    id: 1,
    handle: 0,
    offset: 0,
    data: [content],
    lengthBytes: content.length,
  });
});

test('SFTP packets: invalid lengths are framing errors', () => {
  for (const length of [0, maxPacketBytes + 1, 0xffff_ffff]) {
    const splitter = new PacketSplitter();
    const head = Buffer.alloc(4);
    head.writeUInt32BE(length, 0);
    splitter.push(head);
    assert.throws(() => splitter.next(), BrokenFraming);
  }
});

test('SFTP packets: names with NUL or invalid UTF-8 are malformed', () => {
  for (const name of [Buffer.from([0x2f, 0xff]), Buffer.from('/a\0b'), Buffer.from([0xed, 0xa0, 0x80])]) {
    const [request] = readInPieces(
      requestPacket(packetTypes.stat, 9, (fields) => fields.bytes(name)),
      [],
    );
    assert.equal(request?.kind, 'malformed');
    assert.equal(request.id, 9);
  }
});
