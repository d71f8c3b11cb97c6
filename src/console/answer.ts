import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { reportInternalError } from '../events/internal-error.ts';
import { faultHeaders, statusCodes, toFault } from '../http/reply/error-reply.ts';
import { clientGone } from '../http/reply/outgoing.ts';
import { catching } from '../lib/catching.ts';
import { type ConsoleContext, type ConsoleExchange, eventContext, requireAdministrator } from './environment.ts';
import type { EventStream } from './event-stream.ts';

/** Returns a signal that is aborted once the reply is finished or its client has disconnected. */
export function goneSignal({ outgoing }: ConsoleExchange): AbortSignal {
  const gone = new AbortController();
  const abort = () => gone.abort(clientGone());
  // If the client has already disconnected, for instance while its password was checked, no `close` event follows.
  if (outgoing.destroyed) abort();
  else outgoing.once('close', catching(abort, abort));
  return gone.signal;
}

/**
 * Answers with Server-Sent Events. HEAD gets only the headers.
 *
 * @param begin is called with the stream, and must not wait for events
 */
export function answerEvents(c: ConsoleContext, begin: (stream: EventStream) => void): Response {
  const { outgoing, session, method, service } = c.env;
  const stream = service.streams.open({ outgoing, session, administrator: requireAdministrator(c) }, replyHeaders(c));
  if (method === 'HEAD') outgoing.end();
  else if (!stream.signal.aborted) begin(stream);
  return RESPONSE_ALREADY_SENT;
}

/** Like `goneSignal`, but for a long reply: the connection is also cut as soon as the administrator who receives it loses access. */
export function cutWhenOver(c: ConsoleContext): AbortSignal {
  const { outgoing, session, service } = c.env;
  const gone = goneSignal(c.env);
  service.streams.addDownload({ outgoing, session, administrator: requireAdministrator(c) }, gone);
  return gone;
}

const baseHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

type Headers = Record<string, string>;

/** Answers with a value as JSON. */
export function answerJson(c: ConsoleContext, value: unknown, { status, headers }: { status?: number; headers?: Headers } = {}): Response {
  return answerText(c, JSON.stringify(value), { status, headers: { 'content-type': 'application/json; charset=utf-8', ...headers } });
}

/** Answers with a text. Its type is in `headers`. */
export function answerText(
  c: ConsoleContext,
  body: string,
  { status = 200, headers }: { status?: number | undefined; headers: Headers },
): Response {
  return new Response(body, { status, headers: { ...replyHeaders(c), 'content-length': String(Buffer.byteLength(body)), ...headers } });
}

/** Answers with 204. */
export function answerNothing(c: ConsoleContext, headers: Headers = {}): Response {
  return new Response(null, { status: 204, headers: { ...replyHeaders(c), ...headers } });
}

/** Answers with an error. All errors of the API become replies here. */
export function answerFault(c: ConsoleContext, error: unknown): Response {
  const fault = toFault(error);
  const status = statusCodes[fault.code];
  let { message } = fault;
  if (fault.code === 'internal') {
    const { method, path, request, service } = c.env;
    const { reference } = reportInternalError(service, fault, {
      logged: { request_id: request.id, method, path },
      context: () => eventContext(c.env),
      data: { status, method, path },
    });
    message = `Internal error. Reference: ${reference}`;
  }
  const headers: Headers = {};
  for (const [name, value] of Object.entries(faultHeaders(fault))) if (value !== undefined) headers[name] = String(value);
  if (fault.code === 'unauthorized') headers['www-authenticate'] = challengeFor(c);
  // The rest of an oversized body is not read, so the connection cannot be used again.
  if (fault.code === 'too-large') headers.connection = 'close';
  return answerJson(c, { errors: [{ code: fault.code, message }] }, { status, headers });
}

/** The headers of every reply to a request. */
export function replyHeaders({ env: { request } }: ConsoleContext): Headers {
  return { ...baseHeaders, 'x-request-id': request.id };
}

/**
 * Returns the challenge of a 401. A browser that gets the challenge `Basic` shows its own dialog instead of the login page. So only clients
 * that sent the header `Authorization` get `Basic`.
 */
function challengeFor({ env: { incoming } }: ConsoleContext): string {
  return incoming.headers.authorization === undefined ? 'session' : 'Basic realm="svc console", charset="UTF-8"';
}
