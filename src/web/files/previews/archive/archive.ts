import { unpack } from './unpack.ts';
import { type ArchiveFile, findDirectory, type ZipDirectory } from './zip-directory.ts';
import { ZipFault } from './zip-fault.ts';
import { maxRecordBytes, readMembers, type ZipMember } from './zip-member.ts';

/** Bytes of the central directory that are fetched at once: two thousand members and more, mostly. */
const pieceBytes = 256 * 1024;

/** A ZIP archive, read as far as somebody looks. */
export class Archive {
  /** The members that were read. */
  readonly members: ZipMember[] = [];
  readonly #file: ArchiveFile;
  readonly #directory: ZipDirectory;
  #at: number;
  #piece: Uint8Array = new Uint8Array(0);

  private constructor(file: ArchiveFile, directory: ZipDirectory) {
    this.#file = file;
    this.#directory = directory;
    this.#at = directory.start;
  }

  /** @throws ZipFault when it is no archive */
  static async open(file: ArchiveFile): Promise<Archive> {
    return new Archive(file, await findDirectory(file));
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#directory.end;
  }

  /** How many members there are; as long as not all were read, the archive's own word counts. */
  get count(): number {
    return this.isAtEnd ? this.members.length : Math.max(this.#directory.count, this.members.length);
  }

  /**
   * Reads members on.
   *
   * @param most fewer come at the end
   * @throws ZipFault when the directory is damaged
   */
  async next(most: number): Promise<ZipMember[]> {
    const before = this.members.length;
    while (this.members.length < before + most && !this.isAtEnd) {
      const { members, usedBytes } = readMembers(this.#piece, before + most - this.members.length);
      this.members.push(...members);
      this.#at += usedBytes;
      this.#piece = this.#piece.subarray(usedBytes);
      if (members.length > 0) continue;
      const length = Math.min(pieceBytes, this.#directory.end - this.#at);
      if (this.#piece.length >= Math.min(length, maxRecordBytes)) throw new ZipFault('damaged');
      this.#piece = await this.#file.read(this.#at, length);
    }
    return this.members.slice(before);
  }

  /** The content of a member, in pieces. @throws ZipFault */
  content(member: ZipMember, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    return unpack(member, this.#file, this.#directory, this.members, signal);
  }
}
