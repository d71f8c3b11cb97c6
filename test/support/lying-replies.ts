import { createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

/** Sends the beginning of a reply, and then one piece repeatedly while the client reads. */
export function flood(socket: Socket, beginning: string, piece: string): void {
  socket.write(beginning);
  const pump = () => {
    while (socket.writable && socket.write(piece));
    if (socket.writable) socket.once('drain', pump);
  };
  pump();
}

/** Starts a server that answers each complete request with raw bytes. @returns its URL */
export async function lyingServer(t: TestContext, answer: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    let received = Buffer.alloc(0);
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      const head = received.indexOf('\r\n\r\n') + 4;
      const length = Number(/content-length: (\d+)/i.exec(received.toString('latin1', 0, head))?.[1] ?? 0);
      if (head < 4 || received.length < head + length) return;
      received = received.subarray(head + length);
      answer(socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as { port: number }).port}/hook`;
}
