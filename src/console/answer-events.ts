import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { headersOf } from './answer.ts';
import { administratorOf, type ConsoleContext } from './environment.ts';
import type { EventStream } from './event-stream.ts';

/**
 * Answers with Server-Sent Events; HEAD gets the head alone.
 *
 * @param begin is given the stream, and returns at once
 */
export function answerEvents(c: ConsoleContext, begin: (stream: EventStream) => void): Response {
  const { outgoing, session, method, service } = c.env;
  const stream = service.streams.open({ outgoing, session, administrator: administratorOf(c) }, headersOf(c));
  if (method === 'HEAD') outgoing.end();
  else if (!stream.signal.aborted) begin(stream);
  return RESPONSE_ALREADY_SENT;
}
