import type { OutgoingHttpHeader, OutgoingHttpHeaders } from 'node:http';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { KeptFile } from '../../files/disk/file-cache.ts';
import type { KeptDownload } from '../../files/operations/file-download.ts';
import { type HttpContext, pathOf } from '../environment.ts';
import type { Exchange } from '../request/exchange.ts';
import { requestIdHeader } from '../request/request-trace.ts';
import { endReply, isCutShort } from './body-writer.ts';
import { clientGone, isClientGone, isHttp2 } from './outgoing.ts';
import { headerLines, http2Head, type ReplyHeaders } from './reply.ts';
import { inOnePiece } from './send-file.ts';

// A property costs the garbage collector less than an entry of a WeakMap.
const preparedKey = Symbol('prepared reply');

/** The head of a whole file, and for whom it was made: the one who asked last. */
interface Prepared {
  base: ReplyHeaders;
  path: string;
  /** For HTTP/1; `x-request-id` first: its value is another one each time. */
  lines: OutgoingHttpHeader[];
  /** The same for HTTP/2. */
  head: OutgoingHttpHeaders;
}

type Answered = KeptFile & { [preparedKey]?: Prepared };

/**
 * Sends a whole file that is kept, with headers that are made once.
 *
 * @param headersOf makes them; they depend on the file and its name alone
 */
export async function sendKept(c: HttpContext, download: KeptDownload, headersOf: () => ReplyHeaders): Promise<Response> {
  const exchange = c.env;
  const { outgoing } = exchange;
  const { lines, head } = prepared(exchange, pathOf(c), download.kept, headersOf);
  // What is answered is in the journal.
  await exchange.service.events.grouped();
  const { content } = download.kept;
  download.bytes = content.length;
  if (isClientGone(outgoing)) {
    download.end('client-gone');
    throw clientGone();
  }
  if (isHttp2(outgoing)) {
    // Node.js copies it.
    head[requestIdHeader] = exchange.request.id;
    outgoing.respond(head);
    const sent = endReply(exchange, content);
    download.show();
    download.end((await sent) ? undefined : 'client-gone');
    return RESPONSE_ALREADY_SENT;
  }
  outgoing.on(
    'close',
    exchange.guarded(() => download.end(isCutShort(exchange) ? 'client-gone' : undefined)),
  );
  // Node.js writes them down before anybody else can put another one there.
  lines[1] = exchange.request.id;
  outgoing.writeHead(200, lines);
  outgoing.end(inOnePiece(content), 'latin1');
  // What the kernel did not take at once has to wait for the client.
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
