import type { IncomingMessage, ServerResponse } from 'node:http';
import { processAccount } from '../../events/event-factory.ts';
import { eventIds } from '../../events/event-ids.ts';
import { errorsReply } from '../reply/error-reply.ts';
import type { Outgoing } from '../reply/outgoing.ts';
import { sendReply } from '../reply/reply.ts';
import type { HttpService } from '../request/exchange.ts';
import type { Incoming } from '../request/incoming.ts';
import { maxPending } from './pending-replies.ts';

/** Refuses a pipelined request of a connection that has too many already. */
export function refuseFlood({ baseHeaders }: HttpService, incoming: IncomingMessage, outgoing: ServerResponse): void {
  incoming.resume();
  const message = `A connection must not have more than ${maxPending} requests under way.`;
  sendReply(outgoing, false, baseHeaders, errorsReply(503, [{ message }], { connection: 'close', 'retry-after': 1 }));
}

/** Refuses a request with an `Expect` that nothing here meets. */
export function refuseExpectation(service: HttpService, incoming: Incoming, outgoing: Outgoing): void {
  const reply = errorsReply(417, [{ message: 'The expectation is not supported.' }], { connection: 'close' });
  sendReply(outgoing, incoming.method === 'HEAD', service.baseHeaders, reply);
  noteGarbage(service, incoming.socket, 'Expectation not supported.');
}

/** Emits event `badRequest` for what is no request. @param from the connection's other end */
export function noteGarbage(
  { events, component }: HttpService,
  from: { remoteAddress?: string | undefined; remotePort?: number | undefined },
  details: string,
): void {
  const { remoteAddress: address = '0.0.0.0', remotePort: port = 0 } = from;
  const account = { ...processAccount(), peer: { address, port, protocol: 'TCP', family: 'IPv4' } as const };
  events.emit({ id: eventIds.badRequest, context: { account, component }, data: { details } });
}
