import { createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

/**
 * Starts an authentication endpoint that answers with raw bytes. It answers 401 to the request by which svc tests the method when it starts.
 *
 * @returns its URL
 */
export async function rawEndpoint(t: TestContext, answer: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (chunk) =>
      chunk.includes('svc-test-authentication') ? socket.end('HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n') : answer(socket),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as { port: number }).port}/auth`;
}
