import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';

/** A credentials request as it was received. */
export interface Asked {
  headers: IncomingMessage['headers'];
  body: string;
  credentials: Record<string, unknown>;
}

type Answer = (response: ServerResponse, asked: Asked) => void;

/** Starts an authentication endpoint on its own port. It answers the test request at the start with 401. */
export async function calloutEndpoint(t: TestContext, answer: Answer) {
  const asked: Asked[] = [];
  let sockets = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString('utf8');
    const item = { headers: request.headers, body, credentials: JSON.parse(body).credentials };
    if (item.credentials.username === 'svc-test-authentication') {
      response.writeHead(401).end();
      return;
    }
    asked.push(item);
    answer(response, item);
  });
  server.on('connection', () => {
    sockets++;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as { port: number }).port}/auth`, asked, server, sockets: () => sockets };
}
