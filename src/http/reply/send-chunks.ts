import type { Exchange } from '../request/exchange.ts';
import { BodyWriter } from './body-writer.ts';
import { codingHeaders, gzipped, wantsPrivateGzip } from './compression.ts';
import { alreadySent, type ReplyHeaders, sendReply, writeHead } from './reply.ts';

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
