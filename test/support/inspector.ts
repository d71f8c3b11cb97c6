import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { TestContext } from 'node:test';

/** A request that the endpoint of an inspection received. */
export interface Inspected {
  headers: IncomingMessage['headers'];
  body: Buffer;
  /** The JSON about the file, from the header or the body. */
  facts: { inspection: { id: string; uuid: string; name: string }; file: Record<string, unknown> } & Record<string, unknown>;
}

interface Reply {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
}

/**
 * An endpoint for inspections of `type: http`. Its answer depends on the content: it refuses `bad`, holds `odd`, answers 500 to `fail`, and
 * does not answer `wait` until `answerWaiting` or `answerAll` is called.
 */
export interface TestInspector {
  url: string;
  requests: Inspected[];
  /** Returns the answer to a request; undefined if the content determines it. */
  decide: ((inspected: Inspected) => Reply | undefined) | undefined;
  answerWaiting(status: number): void;
  /** Answers the waiting requests, and all later ones, with a status. */
  answerAll(status: number): void;
}

/** The endpoint's reply about content that it refuses. */
export const refusalBody = { code: 7, message: 'Not this file.', extra: 'secret of the operator', public_response: { rule: 'r1' } };

function replyOf(content: string): Reply | undefined {
  if (content.includes('bad')) return { status: 422, body: refusalBody };
  if (content.includes('odd')) return { status: 202, body: { message: 'Somebody has to look.' } };
  if (content.includes('fail')) return { status: 500 };
  return content.includes('wait') ? undefined : { status: 204 };
}

export async function startInspector(t: TestContext): Promise<TestInspector> {
  const waiting: ServerResponse[] = [];
  let late: number | undefined;
  const inspector: TestInspector = {
    url: '',
    requests: [],
    decide: undefined,
    answerWaiting(status) {
      for (const outgoing of waiting.splice(0)) outgoing.writeHead(status).end();
    },
    answerAll(status) {
      late = status;
      inspector.answerWaiting(status);
    },
  };
  const server = createServer(async (incoming, outgoing) => {
    const body = await buffer(incoming);
    const field = incoming.headers.inspection;
    const json = typeof field === 'string' ? Buffer.from(field.slice(1, -1), 'base64').toString() : body.toString();
    const facts = JSON.parse(json);
    if (facts.test === true) return void outgoing.writeHead(204).end();
    const inspected = { headers: incoming.headers, body, facts };
    inspector.requests.push(inspected);
    const reply = inspector.decide?.(inspected) ?? replyOf(body.toString('latin1')) ?? (late === undefined ? undefined : { status: late });
    if (!reply) return void waiting.push(outgoing);
    outgoing.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
    outgoing.end(reply.body === undefined ? undefined : JSON.stringify(reply.body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  inspector.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return inspector;
}
