import { type AddressInfo, createServer } from 'node:net';

/**
 * A port that is free at present. Workers listen on a port that is named, so that one that takes the place of another finds the same.
 *
 * @throws when the address is not one of this machine
 */
export function freePort(address: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ host: address, port: 0 }, () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
