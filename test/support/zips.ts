import { execFileSync } from 'node:child_process';
import { crc32, deflateRawSync } from 'node:zlib';

const readZip = `
import sys, zipfile, json
z = zipfile.ZipFile(sys.argv[1])
bad = z.testzip()
print(json.dumps({"bad": bad, "names": z.namelist(), "first": z.read(z.namelist()[0]).decode("utf8", "replace")[:80], "count": len(z.namelist())}))
`;

/** Returns what Python's zipfile reads from an archive: the first member with a wrong CRC, the names, and their number. */
export function zipWith(path: string): { bad: string | null; names: string[]; count: number } {
  return JSON.parse(execFileSync('python3', ['-c', readZip, path], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 }));
}

/** A member of an archive that a test creates. The given values are written to the archive, even if they are false. */
export interface MadeMember {
  name: string | Buffer;
  content: Buffer;
  method?: number;
  flags?: number;
  sizeBytes?: number;
  crc?: number;
  /** Offset of the member's local header, as the directory states it. */
  offset?: number;
  extra?: Buffer;
}

interface MadeZip {
  before?: Buffer;
  comment?: string;
  /** Whether all values are in the records of ZIP64. */
  isLarge?: boolean;
  /** Number of members, as the end record states it. */
  count?: number;
}

/** Creates an archive (APPNOTE 4.3), which may contain false values. */
export function makeZip(
  members: readonly MadeMember[],
  { before = Buffer.alloc(0), comment = '', isLarge = false, count }: MadeZip = {},
): Buffer {
  const locals: Buffer[] = [];
  const records: Buffer[] = [];
  let offset = 0;
  for (const member of members) {
    const { content, method = 8 } = member;
    const name = Buffer.from(member.name);
    const packed = method === 8 ? deflateRawSync(content) : content;
    const local = Buffer.concat([Buffer.alloc(30), name, packed]);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(method, 8);
    local.writeUInt16LE(name.length, 26);
    records.push(record(member, name, packed.length, offset, isLarge));
    locals.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(records);
  return Buffer.concat([before, ...locals, directory, ...endOf(count ?? members.length, directory.length, offset, comment, isLarge)]);
}

function record(member: MadeMember, name: Buffer, packedBytes: number, offset: number, isLarge: boolean): Buffer {
  const { content, method = 8, flags = 0x0800, sizeBytes = content.length, crc = crc32(content) >>> 0 } = member;
  const large = Buffer.alloc(isLarge ? 28 : 0);
  const at = member.offset ?? offset;
  if (isLarge) {
    large.writeUInt16LE(1, 0);
    large.writeUInt16LE(24, 2);
    for (const [index, value] of [sizeBytes, packedBytes, at].entries()) large.writeBigUInt64LE(BigInt(value), 4 + 8 * index);
  }
  const extra = Buffer.concat([large, member.extra ?? Buffer.alloc(0)]);
  const head = Buffer.alloc(46);
  head.writeUInt32LE(0x02014b50, 0);
  head.writeUInt16LE(flags, 8);
  head.writeUInt16LE(method, 10);
  // 2024-05-06 07:08:10
  head.writeUInt16LE((7 << 11) | (8 << 5) | 5, 12);
  head.writeUInt16LE((44 << 9) | (5 << 5) | 6, 14);
  head.writeUInt32LE(crc, 16);
  head.writeUInt32LE(isLarge ? 0xffffffff : packedBytes, 20);
  head.writeUInt32LE(isLarge ? 0xffffffff : sizeBytes, 24);
  head.writeUInt16LE(name.length, 28);
  head.writeUInt16LE(extra.length, 30);
  head.writeUInt32LE(isLarge ? 0xffffffff : at, 42);
  return Buffer.concat([head, name, extra]);
}

function endOf(count: number, length: number, offset: number, comment: string, isLarge: boolean): Buffer[] {
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(isLarge ? 0xffff : count % 0x10000, 10);
  end.writeUInt32LE(isLarge ? 0xffffffff : length, 12);
  end.writeUInt32LE(isLarge ? 0xffffffff : offset, 16);
  end.writeUInt16LE(comment.length, 20);
  const tail = [end, Buffer.from(comment)];
  if (!isLarge) return tail;
  const end64 = Buffer.alloc(56);
  end64.writeUInt32LE(0x06064b50, 0);
  end64.writeBigUInt64LE(44n, 4);
  for (const [index, value] of [count, count, length, offset].entries()) end64.writeBigUInt64LE(BigInt(value), 24 + 8 * index);
  const locator = Buffer.alloc(20);
  locator.writeUInt32LE(0x07064b50, 0);
  locator.writeBigUInt64LE(BigInt(offset + length), 8);
  locator.writeUInt32LE(1, 16);
  return [end64, locator, ...tail];
}
