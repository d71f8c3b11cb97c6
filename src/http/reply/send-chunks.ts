import type { HttpContext } from '../environment.ts';
import { BodyWriter } from './body-writer.ts';
import { codingHeaders, gzipped, wantsPrivateGzip } from './compression.ts';
import type { ReplyHeaders } from './reply.ts';
import { respond, stream } from './respond.ts';

/**
 * Sends a body of text chunks as they come, compressed where the client takes that. The first two are made before the status is sent, so that a fault until
 * then is still a proper error reply; a fault after that cuts the connection. An empty chunk sends nothing: it shows whether the client is still there.
 */
export async function sendChunks(c: HttpContext, headers: ReplyHeaders, chunks: AsyncGenerator<string>, status = 200): Promise<Response> {
  const exchange = c.env;
  const first = await chunks.next();
  const second = first.done ? first : await chunks.next();
  if (second.done) return respond(c, { status, headers, body: first.done ? '' : first.value });
  const isCompressed = wantsPrivateGzip(exchange);
  try {
    return await stream(c, status, { ...headers, ...codingHeaders(isCompressed, headers.vary) }, async () => {
      const writer = new BodyWriter(exchange);
      const beginning = first.value + second.value;
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
