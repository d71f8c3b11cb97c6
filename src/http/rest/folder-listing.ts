import type { Entry } from '../../files/entry.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import { BodyWriter } from '../reply/body-writer.ts';
import { codingHeaders, gzipped, wantsPrivateGzip } from '../reply/compression.ts';
import { alreadySent, type Reply, type ReplyHeaders, sendReply, writeHead } from '../reply/reply.ts';
import { clientOf, type Exchange } from '../request/exchange.ts';

/** One entry as the JSON listing writes it (docs/spec/files.md#listings): times in seconds with milliseconds. */
function entryJson(entry: Entry): string {
  const modified = Math.round(entry.modifiedMs) / 1000;
  return `{"name":${JSON.stringify(entry.name)},"is_directory":${entry.isFolder},"modified":${modified},"size":${entry.sizeBytes}}`;
}

/** GET and HEAD of a folder as JSON, streamed: memory does not grow with the folder. */
export async function sendJsonListing(exchange: Exchange, path: VirtualPath): Promise<Reply | typeof alreadySent> {
  const { files } = clientOf(exchange);
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    vary: 'accept, content-type',
  };
  const batches = files.openListing(path);
  return sendChunks(exchange, headers, jsonChunks(batches));
}

async function* jsonChunks(batches: AsyncIterable<Entry[]>): AsyncGenerator<string> {
  let separator = '{"content":[';
  for await (const batch of batches) {
    if (batch.length === 0) continue;
    yield separator + batch.map(entryJson).join(',');
    separator = ',';
  }
  yield separator === ',' ? ']}' : `${separator}]}`;
}

/**
 * Sends a body of text chunks as they come, compressed where the client takes that. The first chunk is made before the status is sent, so that a fault until
 * then is still a proper error reply; a fault after that cuts the connection.
 */
export async function sendChunks(
  exchange: Exchange,
  headers: ReplyHeaders,
  chunks: AsyncGenerator<string>,
  status = 200,
): Promise<typeof alreadySent> {
  const { outgoing } = exchange;
  const first = await chunks.next();
  const second = first.done ? first : await chunks.next();
  const base = exchange.baseHeaders;
  await exchange.service.events.grouped();
  if (second.done) {
    sendReply(outgoing, exchange.isHead, base, { status, headers, body: first.done ? '' : first.value });
    return alreadySent;
  }
  const isCompressed = wantsPrivateGzip(exchange);
  writeHead(outgoing, status, base, { ...headers, ...codingHeaders(isCompressed, headers.vary) });
  if (exchange.isHead) {
    await chunks.return(undefined);
    outgoing.end();
    return alreadySent;
  }
  const writer = new BodyWriter(exchange);
  try {
    const beginning = first.value + second.value;
    if (isCompressed) {
      for await (const chunk of gzipped(beginning, chunks)) await writer.write(chunk);
    } else {
      await writer.write(Buffer.from(beginning));
      for await (const chunk of chunks) await writer.write(Buffer.from(chunk));
    }
    await writer.end();
  } catch (error) {
    outgoing.destroy();
    if (!writer.isGone) throw error;
  } finally {
    await chunks.return(undefined);
  }
  return alreadySent;
}
