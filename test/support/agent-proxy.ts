import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

/** A proxy that passes everything on as it is but for the name of the client's program. @returns its URL */
export async function agentProxy(t: TestContext, upstream: string, userAgent: string): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    const { hostname, port } = new URL(upstream);
    const headers = { ...incoming.headers, 'user-agent': userAgent };
    const passed = request({ hostname, port, method: incoming.method, path: incoming.url, headers }, (reply) => {
      outgoing.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
