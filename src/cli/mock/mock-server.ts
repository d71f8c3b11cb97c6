import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as z from 'zod';
import { ServiceError, systemErrorCode } from '../../lib/errors.ts';
import { exitCode } from '../exit-codes.ts';
import { print } from '../output.ts';

/** The line of a mock that accepts connections. */
export const listeningLine = z.strictObject({ listening: z.string() });

/** A mock that listens on this machine alone. */
export interface MockServer {
  /** For messages: `mock auth`. */
  name: string;
  /** 0 for any free one. */
  port: number;
  /** Path of the URL that is printed. */
  path: string;
  json: boolean;
}

/** The body of a request; what is longer than so many bytes is not kept. @throws when the client goes away */
export async function readBody(request: IncomingMessage, limitBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length;
    if (bytes <= limitBytes) chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}

/**
 * Serves until SIGINT or SIGTERM, which is how a mock ends: exit code 0. Prints the URL once it accepts connections.
 *
 * @throws ServiceError `unavailable` when it cannot listen
 */
export async function serveMock(server: Server, { name, port, path, json }: MockServer): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      const reason = systemErrorCode(error) === 'EADDRINUSE' ? 'the port is in use' : error.message;
      reject(new ServiceError('unavailable', `${name} cannot listen on 127.0.0.1:${port}: ${reason}.`, { cause: error }));
    });
    server.listen(port, '127.0.0.1', resolve);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  print(json ? JSON.stringify({ listening: url }) : `${name} listening on ${url}`);
  await new Promise<void>((resolve) => {
    process.once('SIGINT', resolve);
    process.once('SIGTERM', resolve);
  });
  server.closeAllConnections();
  server.close();
  return exitCode.done;
}
