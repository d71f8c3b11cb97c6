import type { OutgoingHttpHeader, OutgoingHttpHeaders } from 'node:http';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { KeptFile } from '../../files/disk/file-cache.ts';
import type { FileDownload, KeptDownload } from '../../files/operations/file-download.ts';
import { readAsync, readFully } from '../../lib/disk/descriptors.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import type { ByteRange } from '../../lib/headers/byte-ranges.ts';
import { type SendBuffers, takeSendBuffers } from '../../lib/send-buffers.ts';
import type { Exchange } from '../request/exchange.ts';
import { requestIdHeader } from '../request/request-trace.ts';
import { BodyWriter, endReply, isCutShort } from './body-writer.ts';
import { clientGone, isClientGone, isHttp2 } from './outgoing.ts';
import { headerLines, http2Head, type ReplyHeaders } from './reply.ts';
import { stream } from './respond.ts';

// The prepared headers are a property of the cached file, because a property costs the garbage collector less than an entry of a WeakMap.
const preparedKey = Symbol('prepared reply');

/** The headers of the last reply with a whole file, kept for the next request to the same service and path. */
interface Prepared {
  base: ReplyHeaders;
  path: string;
  /** Header lines for HTTP/1. The first header is `x-request-id`: its value, `lines[1]`, is replaced for each request. */
  lines: OutgoingHttpHeader[];
  /** Headers for HTTP/2. */
  head: OutgoingHttpHeaders;
}

type Answered = KeptFile & { [preparedKey]?: Prepared };

/**
 * Sends a whole file from the cache, with headers that are created once.
 * @param headersOf creates the headers; they depend only on the file and its name
 */
export async function sendKept(exchange: Exchange, download: KeptDownload, headersOf: () => ReplyHeaders): Promise<Response> {
  const { outgoing } = exchange;
  const { lines, head } = prepared(exchange, exchange.path, download.kept, headersOf);
  // Events must be in the journal before the reply.
  await exchange.service.events.grouped();
  const { content } = download.kept;
  download.bytes = content.length;
  if (isClientGone(outgoing)) {
    download.end('client-gone');
    throw clientGone();
  }
  if (isHttp2(outgoing)) {
    // Node.js copies the headers, so the object can be changed for each request.
    head[requestIdHeader] = exchange.request.id;
    outgoing.respond(head);
    const sent = endReply(exchange, content);
    download.show();
    download.end((await sent) ? undefined : 'client-gone');
    return RESPONSE_ALREADY_SENT;
  }
  outgoing.on(
    'close',
    exchange.catching(() => download.end(isCutShort(exchange) ? 'client-gone' : undefined)),
  );
  // `writeHead` encodes the lines at once, so a later request can change the value.
  lines[1] = exchange.request.id;
  outgoing.writeHead(200, lines);
  outgoing.end(inOnePiece(content), 'latin1');
  // Operators see the download among the running transfers only if some of its content still waits to be sent.
  if (outgoing.writableLength > 0) download.show();
  return RESPONSE_ALREADY_SENT;
}

function prepared(exchange: Exchange, path: string, kept: KeptFile, headersOf: () => ReplyHeaders): Prepared {
  const answered = kept as Answered;
  const { baseHeaders: base } = exchange.service;
  const before = answered[preparedKey];
  if (before?.base === base && before.path === path) return before;
  const lines = headerLines(exchange.request.id, exchange.baseHeaders, { ...headersOf(), 'content-length': kept.content.length });
  answered[preparedKey] = { base, path, lines, head: http2Head(200, lines) };
  return answered[preparedKey];
}

/** Up to this size, one synchronous read is much faster than a read in the thread pool (docs/design/costs.md). */
const smallFileBytes = 128 * 1024;

/** Up to this size, files are read into `tinyFile`, and Node.js sends headers and body without allocating memory for them. */
const tinyFileBytes = 8 * 1024;

const tinyFile = Buffer.allocUnsafeSlow(tinyFileBytes);

/** A part of a multi-part body: text before the bytes, then the bytes. */
export interface BodyPart {
  preamble: Buffer | undefined;
  range: ByteRange;
}

/**
 * Sends a file, or ranges of it, and reports the outcome to `download`.
 * @param parts the ranges, with inclusive ends
 * @param epilogue bytes after the last part
 */
export function sendFile(
  exchange: Exchange,
  { status, headers }: { status: number; headers: ReplyHeaders },
  download: FileDownload,
  parts: readonly BodyPart[],
  epilogue?: Buffer,
): Promise<Response> {
  return stream(exchange, status, headers, async () => {
    download.totalBytes = parts.reduce((sum, { range }) => sum + rangeLength(range), 0);
    download.show();
    try {
      const only = parts.length === 1 ? parts[0] : undefined;
      if (only && !only.preamble && rangeLength(only.range) <= smallFileBytes) {
        const body = wholeBody(download, only.range);
        download.bytes = download.totalBytes;
        if (!(await endReply(exchange, body))) throw clientGone();
      } else {
        const writer = new BodyWriter(exchange);
        for (const part of parts) {
          if (part.preamble) await writer.write(part.preamble);
          await sendPart(exchange, writer, download, part.range);
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

function rangeLength(range: ByteRange): number {
  return range.end - range.start + 1;
}

async function sendPart(exchange: Exchange, writer: BodyWriter, download: FileDownload, range: ByteRange): Promise<void> {
  const send = async (bytes: Buffer) => {
    await writer.write(bytes);
    download.bytes += bytes.length;
  };
  if (download.kept) await send(keptRange(download.kept, range));
  else await sendRange(writer, send, download.fd, range, takeSendBuffers(isHttp2(exchange.outgoing)));
}

// Fills one buffer while the other one is sent. The read starts before the send, because sending keeps this thread busy.
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
    // The loop awaits this promise only after the previous bytes are sent. If the read fails earlier, that must not be an unhandled
    // rejection.
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
      // The next round awaits this promise. If the send fails earlier, that must not be an unhandled rejection.
      flushed.catch(() => {});
    }
    await flushed;
    isWhole = true;
  } finally {
    writer.settle();
    // The caller closes the descriptor after this, so wait until the pending read has ended.
    await reading.catch(() => {});
    buffers.release(isWhole);
  }
}

/** Converts a tiny body to a Latin-1 text, one character for each byte, because Node.js sends a text together with the headers. */
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

/** Reads a small range synchronously. @returns bytes that must be used before the next read, because small files share one buffer */
function readWhole(fd: number, range: ByteRange): Buffer {
  const lengthBytes = rangeLength(range);
  const buffer = lengthBytes <= tinyFileBytes ? tinyFile.subarray(0, lengthBytes) : Buffer.allocUnsafe(lengthBytes);
  if (readFully(fd, buffer, range.start) < lengthBytes) throw becameShorter();
  return buffer;
}

function becameShorter(): ServiceError {
  return new ServiceError('unavailable', 'The file became shorter while it was sent; try again.');
}
