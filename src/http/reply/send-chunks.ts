import type { HttpContext } from '../environment.ts';
import { BodyWriter } from './body-writer.ts';
import { codingHeaders, gzipped, wantsPrivateGzip } from './compression.ts';
import type { ReplyHeaders } from './reply.ts';
import { respond, stream } from './respond.ts';

/** How a reply in chunks is sent. */
export interface ChunkedReply {
  /** Of the reply; 200 when left out. */
  status?: number;
  /**
   * Chunks that are made before the status is sent: a fault until then is still a proper error reply, one after that cuts the connection. When left
   * out 2, so that a body of one chunk has its length; 0 for a body that begins when nobody knows.
   */
  startsAfter?: 0 | 1 | 2;
}

/**
 * Sends a body of text chunks as they come, compressed where the client takes that. An empty chunk sends nothing: it shows whether the client is
 * still there.
 */
export async function sendChunks(
  c: HttpContext,
  headers: ReplyHeaders,
  chunks: AsyncGenerator<string>,
  { status = 200, startsAfter = 2 }: ChunkedReply = {},
): Promise<Response> {
  const exchange = c.env;
  let beginning = '';
  for (let made = 0; made < startsAfter; made++) {
    const { done, value } = await chunks.next();
    if (done) return respond(c, { status, headers, body: beginning });
    beginning += value;
  }
  const isCompressed = wantsPrivateGzip(exchange);
  try {
    return await stream(c, status, { ...headers, ...codingHeaders(isCompressed, headers.vary) }, async () => {
      const writer = new BodyWriter(exchange);
      const rest = whileThere(writer, chunks);
      if (isCompressed) {
        for await (const chunk of gzipped(beginning, rest)) await writer.write(chunk);
      } else {
        await writer.write(Buffer.from(beginning));
        for await (const chunk of rest) await writer.write(Buffer.from(chunk));
      }
      await writer.end();
    });
  } finally {
    await chunks.return(undefined);
  }
}

async function* whileThere(writer: BodyWriter, chunks: AsyncGenerator<string>): AsyncGenerator<string> {
  for await (const chunk of chunks) {
    writer.checkClient();
    if (chunk !== '') yield chunk;
  }
}
