import { readSync } from 'node:fs';
import type { KeptFile } from '../../files/disk/file-cache.ts';
import type { FileDownload } from '../../files/operations/file-download.ts';
import { readAsync } from '../../lib/disk/descriptors.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import type { ByteRange } from '../../lib/headers/byte-ranges.ts';
import type { HttpContext } from '../environment.ts';
import { BodyWriter, endReply } from './body-writer.ts';
import { clientGone, isHttp2 } from './outgoing.ts';
import type { ReplyHeaders } from './reply.ts';
import { stream } from './respond.ts';
import { type SendBuffers, takeSendBuffers } from './send-buffers.ts';

/** Up to this size one synchronous read beats the thread pool by far (docs/design/costs.md). */
const smallFileBytes = 128 * 1024;

/** Up to this size Node.js sends headers and body without taking memory for them. */
const tinyFileBytes = 8 * 1024;

const tinyFile = Buffer.allocUnsafeSlow(tinyFileBytes);

/** A part of a multi-part body: text before the bytes, then the bytes. */
export interface BodyPart {
  preamble: Buffer | undefined;
  range: ByteRange;
}

/**
 * Sends a file, or ranges of it, and ends the download with what came of it.
 *
 * @param parts the ranges to send, end inclusive; with `epilogue` after the last
 */
export function sendFile(
  c: HttpContext,
  { status, headers }: { status: number; headers: ReplyHeaders },
  download: FileDownload,
  parts: readonly BodyPart[],
  epilogue?: Buffer,
): Promise<Response> {
  return stream(c, status, headers, async () => {
    download.totalBytes = parts.reduce((sum, { range }) => sum + lengthOf(range), 0);
    download.show();
    try {
      const only = parts.length === 1 ? parts[0] : undefined;
      if (only && !only.preamble && lengthOf(only.range) <= smallFileBytes) {
        const body = wholeBody(download, only.range);
        download.bytes = download.totalBytes;
        if (!(await endReply(c.env, body))) throw clientGone();
      } else {
        const writer = new BodyWriter(c.env);
        for (const part of parts) {
          if (part.preamble) await writer.write(part.preamble);
          await sendPart(c, writer, download, part.range);
        }
        await writer.end(epilogue);
      }
      download.end();
    } catch (error) {
      download.end(isServiceError(error, 'client-gone') ? 'client-gone' : 'failed');
      throw error;
    }
  });
}

function lengthOf(range: ByteRange): number {
  return range.end - range.start + 1;
}

async function sendPart({ env }: HttpContext, writer: BodyWriter, download: FileDownload, range: ByteRange): Promise<void> {
  const send = async (bytes: Buffer) => {
    await writer.write(bytes);
    download.bytes += bytes.length;
  };
  if (download.kept) await send(keptRange(download.kept, range));
  else await sendRange(writer, send, download.fd, range, takeSendBuffers(isHttp2(env.outgoing)));
}

// While one buffer is sent the next is read: the read begins first, as sending keeps this thread busy.
async function sendRange(
  writer: BodyWriter,
  send: (bytes: Buffer) => Promise<void>,
  fd: number,
  range: ByteRange,
  buffers: SendBuffers,
): Promise<void> {
  let [buffer, other] = buffers.pair;
  let isWhole = false;
  const read = (position: number) => {
    const started = readAsync(fd, buffer, 0, Math.min(buffer.length, range.end + 1 - position), position);
    // Awaited once the client has taken what was read before; a failure until then must not count as unhandled.
    started.catch(() => {});
    return started;
  };
  let reading = read(range.start);
  let flushed: Promise<void> | undefined;
  try {
    for (let position = range.start; position <= range.end; ) {
      const { bytesRead } = await reading;
      if (bytesRead === 0) throw becameShorter();
      await flushed;
      position += bytesRead;
      [buffer, other] = [other, buffer];
      if (position <= range.end) reading = read(position);
      flushed = send(other.subarray(0, bytesRead));
      // Awaited in the next round; a failure until then must not count as unhandled.
      flushed.catch(() => {});
    }
    await flushed;
    isWhole = true;
  } finally {
    writer.settle();
    // The descriptor stays open as long as something reads from it.
    await reading.catch(() => {});
    buffers.release(isWhole);
  }
}

/** A tiny body leaves in one piece with the headers when it is a text; its characters are its bytes (Latin-1). */
export function inOnePiece(bytes: Buffer): Buffer | string {
  return bytes.length <= tinyFileBytes ? bytes.toString('latin1') : bytes;
}

function wholeBody(download: FileDownload, range: ByteRange): Buffer | string {
  const bytes = download.kept ? keptRange(download.kept, range) : readWhole(download.fd, range);
  return inOnePiece(bytes);
}

function keptRange({ content }: KeptFile, range: ByteRange): Buffer {
  return content.subarray(range.start, range.end + 1);
}

/** @returns bytes that are used up before the next are read */
function readWhole(fd: number, range: ByteRange): Buffer {
  const lengthBytes = lengthOf(range);
  const buffer = lengthBytes <= tinyFileBytes ? tinyFile.subarray(0, lengthBytes) : Buffer.allocUnsafe(lengthBytes);
  readExactlySync(fd, buffer, range.start);
  return buffer;
}

function readExactlySync(fd: number, buffer: Buffer, position: number): void {
  let done = 0;
  while (done < buffer.length) {
    const bytesRead = readSync(fd, buffer, done, buffer.length - done, position + done);
    if (bytesRead === 0) throw becameShorter();
    done += bytesRead;
  }
}

function becameShorter(): ServiceError {
  return new ServiceError('unavailable', 'The file became shorter while it was sent; try again.');
}
