import type { IncomingMessage, ServerResponse } from 'node:http';
import { processAccount } from '../../events/event-factory.ts';
import { eventIds } from '../../events/event-ids.ts';
import { systemErrorCode } from '../../lib/errors.ts';
import { maxPending } from '../../lib/pending-replies.ts';
import { errorsReply, statusTitle } from '../reply/error-reply.ts';
import type { Outgoing } from '../reply/outgoing.ts';
import { sendReply } from '../reply/reply.ts';
import type { HttpService } from '../request/exchange.ts';
import type { Incoming } from '../request/incoming.ts';

/** Maximum size of a header section in bytes (docs/spec/http.md#bad-input). */
export const headerLimitBytes = 16 * 1024;

/** Status and message for each error code of the Node.js parser. Any other error is answered as a bad request. */
const meanings: Record<string, [number, string]> = {
  HPE_HEADER_OVERFLOW: [431, `The header section is larger than ${headerLimitBytes} bytes.`],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request took too long to arrive.'],
};

/**
 * Returns the complete reply to bytes that are not an HTTP request, and the message in it.
 *
 * @param error the parser's error
 * @param server value of the header `server`
 */
export function garbageReply(error: Error, server: string): { message: string; reply: string } {
  const [status, message] = meanings[systemErrorCode(error) ?? ''] ?? [400, 'The request is not valid HTTP.'];
  const body = JSON.stringify({ errors: [{ message }] });
  const head = [
    `HTTP/1.1 ${status} ${statusTitle(status)}`,
    `Server: ${server}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  return { message, reply: `${head.join('\r\n')}\r\n\r\n${body}` };
}

/** Refuses a pipelined request because its connection has too many requests under way. */
export function refuseFlood({ baseHeaders }: HttpService, incoming: IncomingMessage, outgoing: ServerResponse): void {
  incoming.resume();
  const message = `A connection must not have more than ${maxPending} requests under way.`;
  sendReply(outgoing, false, baseHeaders, errorsReply(503, [{ message }], { connection: 'close', 'retry-after': 1 }));
}

/** Refuses a request with an unsupported `Expect` header. */
export function refuseExpectation(service: HttpService, incoming: Incoming, outgoing: Outgoing): void {
  const reply = errorsReply(417, [{ message: 'The Expect header is not supported, except for "100-continue".' }], { connection: 'close' });
  sendReply(outgoing, incoming.method === 'HEAD', service.baseHeaders, reply);
  noteGarbage(service, incoming.socket, 'The Expect header is not supported, except for "100-continue".');
}

/** Emits event `badRequest` for input that is refused before it is handled as a request. @param from the client's address and port */
export function noteGarbage(
  { events, component }: HttpService,
  from: { remoteAddress?: string | undefined; remotePort?: number | undefined },
  details: string,
): void {
  const { remoteAddress: address = '0.0.0.0', remotePort: port = 0 } = from;
  const account = { ...processAccount(), peer: { address, port, protocol: 'TCP', family: 'IPv4' } as const };
  events.emit({ id: eventIds.badRequest, context: { account, component }, data: { details } });
}
