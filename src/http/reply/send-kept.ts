import type { OutgoingHttpHeader, ServerResponse } from 'node:http';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { KeptFile } from '../../files/disk/file-cache.ts';
import type { KeptDownload } from '../../files/operations/file-download.ts';
import { type HttpContext, pathOf } from '../environment.ts';
import type { Exchange } from '../request/exchange.ts';
import { isCutShort } from './body-writer.ts';
import { clientGone, isClientGone } from './outgoing.ts';
import { headerLines, type ReplyHeaders } from './reply.ts';
import { inOnePiece } from './send-file.ts';

// A property costs the garbage collector less than an entry of a WeakMap.
const preparedKey = Symbol('prepared reply');

/** The header lines of a whole file, and for whom they were made: the one who asked last. */
interface Prepared {
  base: ReplyHeaders;
  path: string;
  /** `x-request-id` first: its value is another one each time. */
  lines: OutgoingHttpHeader[];
}

type Answered = KeptFile & { [preparedKey]?: Prepared };

/**
 * Sends a whole file that is kept, over HTTP/1, with headers that are made once.
 *
 * @param headersOf makes them; they depend on the file and its name alone
 */
export async function sendKept(c: HttpContext, download: KeptDownload, headersOf: () => ReplyHeaders): Promise<Response> {
  const exchange = c.env;
  const outgoing = exchange.outgoing as ServerResponse;
  const lines = preparedLines(exchange, pathOf(c), download.kept, headersOf);
  // What is answered is in the journal.
  await exchange.service.events.grouped();
  const { content } = download.kept;
  if (isClientGone(outgoing)) {
    download.end(content.length, 'client-gone');
    throw clientGone();
  }
  outgoing.on(
    'close',
    exchange.guarded(() => download.end(content.length, isCutShort(exchange) ? 'client-gone' : undefined)),
  );
  // Node.js writes them down before anybody else can put another one there.
  lines[1] = exchange.request.id;
  outgoing.writeHead(200, lines);
  outgoing.end(inOnePiece(content), 'latin1');
  return RESPONSE_ALREADY_SENT;
}

function preparedLines(exchange: Exchange, path: string, kept: KeptFile, headersOf: () => ReplyHeaders): OutgoingHttpHeader[] {
  const answered = kept as Answered;
  const { baseHeaders: base } = exchange.service;
  const before = answered[preparedKey];
  if (before?.base === base && before.path === path) return before.lines;
  const lines = headerLines(exchange.request.id, exchange.baseHeaders, { ...headersOf(), 'content-length': kept.content.length });
  answered[preparedKey] = { base, path, lines };
  return lines;
}
