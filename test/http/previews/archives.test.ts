import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { centralHeader, endRecords } from '../../../src/lib/zip/zip-records.ts';
import { type Archive, openArchive } from '../../../src/web/files/previews/archive/archive.ts';
import type { ArchiveFile } from '../../../src/web/files/previews/archive/zip-member.ts';
import { ZipFault } from '../../../src/web/files/previews/archive/zip-member.ts';
import { type MadeMember, makeZip } from '../../support/zips.ts';

const never = new AbortController().signal;

interface ReadFile extends ArchiveFile {
  readBytes: number;
  requests: number;
}

/** An archive in memory that counts the bytes read from it. */
function fileOf(bytes: Buffer, pieceBytes = 65_536): ReadFile {
  const file: ReadFile = {
    sizeBytes: bytes.length,
    readBytes: 0,
    requests: 0,
    read: async (start, length) => {
      assert.ok(start >= 0 && length >= 0 && start + length <= bytes.length, `${start} + ${length} of ${bytes.length}`);
      file.readBytes += length;
      file.requests++;
      return new Uint8Array(bytes.subarray(start, start + length));
    },
    async *stream(start, length) {
      for (let at = start; at < start + length; at += pieceBytes) yield file.read(at, Math.min(pieceBytes, start + length - at));
    },
  };
  return file;
}

async function contentOf(archive: Archive, index: number): Promise<Buffer> {
  const member = archive.members[index];
  assert.ok(member);
  const pieces: Uint8Array[] = [];
  for await (const piece of archive.content(member, never)) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function opened(bytes: Buffer): Promise<Archive> {
  const archive = await openArchive(fileOf(bytes));
  await archive.next(1000);
  return archive;
}

function failsAs(reason: string) {
  return (error: unknown) => error instanceof ZipFault && error.reason === reason;
}

const text: MadeMember = { name: 'docs/größe.txt', content: Buffer.from('content '.repeat(500)) };
const stored: MadeMember = { name: 'plain.bin', content: Buffer.from([1, 2, 3]), method: 0 };

test('members and contents are read: deflated or stored, with data before the archive, with a comment, or in ZIP64', async () => {
  const folder: MadeMember = { name: 'docs/', content: Buffer.alloc(0), method: 0 };
  for (const shape of [{}, { before: Buffer.alloc(777, 'PK') }, { comment: 'PK\x05\x06'.repeat(20) }, { isLarge: true }]) {
    for (const before of [shape.before ?? Buffer.alloc(0), Buffer.alloc(5)]) {
      const archive = await opened(makeZip([folder, text, stored], { ...shape, before }));
      assert.deepEqual(
        archive.members.map(({ name, isFolder, sizeBytes }) => [name, isFolder, sizeBytes]),
        [
          ['docs/', true, 0],
          ['docs/größe.txt', false, 4000],
          ['plain.bin', false, 3],
        ],
      );
      assert.equal(archive.count(), 3);
      assert.equal(archive.members[1]?.modifiedMs, new Date(2024, 4, 6, 7, 8, 10).getTime());
      assert.deepEqual(await contentOf(archive, 1), text.content);
      assert.deepEqual(await contentOf(archive, 2), stored.content);
    }
  }
});

test('of an archive with a million members, only the first are read, but all are counted', async () => {
  const count = 1_000_000;
  const entry = { name: 'a/member-000000.txt', isFolder: false, sizeBytes: 5, modifiedMs: 1_700_000_000_123 };
  const record = centralHeader(entry, 0, 0);
  const directory = Buffer.alloc(record.length * count);
  for (let at = 0; at < directory.length; at += record.length) record.copy(directory, at);
  const bytes = Buffer.concat([directory, endRecords(count, directory.length, 0)]);
  const file = fileOf(bytes);
  const archive = await openArchive(file);
  assert.equal((await archive.next(500)).length, 500);
  assert.equal(archive.count(), count);
  assert.equal(archive.isAtEnd(), false);
  assert.equal(archive.members[0]?.modifiedMs, 1_700_000_000_000, 'the timestamp in UTC counts');
  assert.ok(file.readBytes < 400_000 && file.requests < 5, `${file.readBytes} bytes in ${file.requests} requests`);
  assert.equal((await archive.next(10_000)).length, 10_000);
});

test('a name without the UTF-8 flag is UTF-8 if it is valid, otherwise code page 437; an extra Unicode name needs its checksum', async () => {
  const unicode = (name: Buffer, better: string) => {
    const field = Buffer.concat([Buffer.alloc(9), Buffer.from(better)]);
    field.writeUInt16LE(0x7075, 0);
    field.writeUInt16LE(field.length - 4, 2);
    field.writeUInt8(1, 4);
    field.writeUInt32LE(crc32(name) >>> 0, 5);
    return field;
  };
  const old = Buffer.from([0x81, 0x2e, 0x74]);
  const content = Buffer.alloc(0);
  const archive = await opened(
    makeZip([
      { name: 'ü.t', content, flags: 0 },
      { name: old, content, flags: 0 },
      { name: old, content, flags: 0, extra: unicode(old, 'Ж.t') },
      { name: old, content, flags: 0, extra: unicode(Buffer.from('other'), 'Ж.t') },
    ]),
  );
  assert.deepEqual(
    archive.members.map(({ name }) => name),
    ['ü.t', 'ü.t', 'Ж.t', 'ü.t'],
  );
});

test('bombs: no member gives more than its announced size, and overlapping members are not unpacked', async () => {
  const zeros = Buffer.alloc(50_000_000);
  const lying = await opened(makeZip([{ name: 'bomb', content: zeros, sizeBytes: 100_000 }]));
  let gotBytes = 0;
  const member = lying.members[0];
  assert.ok(member);
  await assert.rejects(async () => {
    for await (const piece of lying.content(member, never)) gotBytes += piece.length;
  }, failsAs('damaged'));
  assert.ok(gotBytes <= 100_000, `${gotBytes} bytes`);

  const small = makeZip([{ name: 'short', content: Buffer.from('abc'), sizeBytes: 1_000_000 }]);
  await assert.rejects(contentOf(await opened(small), 0), failsAs('damaged'));

  // Several members that share the same bytes (David Fifield's bombs).
  const overlapping = await opened(makeZip([text, { ...text, name: 'second', offset: 0 }, { ...text, name: 'third', offset: 10 }]));
  for (const index of [0, 1, 2]) await assert.rejects(contentOf(overlapping, index), failsAs('damaged'));
});

test('damaged or encrypted members, unknown compressions, and files that are no archives are distinguished', async () => {
  const cases: [string, Buffer, string][] = [
    ['CRC', makeZip([{ ...text, crc: 1 }]), 'damaged'],
    ['encrypted', makeZip([{ ...text, flags: 1 }]), 'encrypted'],
    ['other method', makeZip([{ ...text, method: 14 }]), 'unknown-packing'],
    ['no local header', makeZip([text, { ...stored, offset: 5 }].reverse()), 'damaged'],
    ['behind the directory', makeZip([{ ...text, offset: 1e9 }]), 'damaged'],
  ];
  for (const [what, bytes, reason] of cases) await assert.rejects(contentOf(await opened(bytes), 0), failsAs(reason), what);
  const broken = makeZip([text]);
  broken.fill(0, broken.length - 22 - 60, broken.length - 22);
  await assert.rejects(opened(broken), failsAs('damaged'));
  for (const bytes of [Buffer.alloc(0), Buffer.from('PK'), Buffer.alloc(100_000, 'no archive')])
    await assert.rejects(opened(bytes), failsAs('no-archive'));
  const empty = await opened(makeZip([]));
  assert.deepEqual([empty.count(), empty.isAtEnd()], [0, true]);
});

test('a false number of members is corrected when all have been read', async () => {
  const archive = await openArchive(fileOf(makeZip([text, stored], { count: 60_000 })));
  assert.equal(archive.count(), 60_000);
  await archive.next(10);
  assert.equal(archive.count(), 2);
});

test('with any changed bytes an archive is read, or refused as damaged; nothing outside it is read', async () => {
  const sound = makeZip([text, stored, { name: 'x', content: Buffer.from('x') }], { isLarge: true });
  const change = fc.tuple(fc.nat(sound.length - 1), fc.nat(255));
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 8 }), fc.nat(sound.length), async (changes, cut) => {
      const bytes = Buffer.from(sound.subarray(cut % 5 === 0 ? cut : 0));
      for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
      try {
        const archive = await opened(bytes);
        for (const index of archive.members.keys()) {
          const size = archive.members[index]?.sizeBytes ?? 0;
          const content = await contentOf(archive, index);
          assert.equal(content.length, size);
        }
      } catch (error) {
        if (!(error instanceof ZipFault)) throw error;
      }
    }),
    { numRuns: 300 },
  );
});
