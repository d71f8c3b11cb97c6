import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { ServiceError, systemErrorCode } from './errors.ts';

/** Whether a request of HTTP/1.0 has a Transfer-Encoding, so that a proxy may see its end elsewhere (RFC 9112 §6.1). */
export function isFaultilyFramed({ httpVersion, headers }: { httpVersion: string; headers: IncomingHttpHeaders }): boolean {
  return httpVersion === '1.0' && headers['transfer-encoding'] !== undefined;
}

/**
 * Removes target and host, which were read already: Hono's adapter would make a URL of them that nothing reads, and would answer an empty
 * 400 if it cannot.
 */
export function acceptAnyHead(incoming: { url?: string | undefined; headers: IncomingHttpHeaders }): void {
  incoming.url = '/';
  incoming.headers.host = '';
}

/** Describes why a server cannot listen and, if known, what to do about it. */
export function listenFault(error: Error): string {
  switch (systemErrorCode(error)) {
    case 'EADDRINUSE':
      return 'the port is in use by another process';
    case 'EADDRNOTAVAIL':
      return 'no network interface of this machine has the address';
    case 'EACCES':
      return 'permission denied; a port below 1024 needs CAP_NET_BIND_SERVICE, or a start as root with server.user, or take another port';
    default:
      return error.message;
  }
}

/** Connections that may wait to be accepted, if the system allows as many. */
const backlog = 4096;

/**
 * Begins to accept connections.
 *
 * @param onError called for errors after that
 * @throws ServiceError `unavailable` naming the address when it is in use or not permitted
 */
export function listen(
  server: Server,
  { type, address: host, port }: { type: string; address: string; port: number },
  onError: (error: Error) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const onRefused = (error: Error) => {
      const reason = listenFault(error);
      reject(new ServiceError('unavailable', `${type} service cannot listen on ${authority(host, port)}: ${reason}.`, { cause: error }));
    };
    server.once('error', onRefused);
    server.listen({ host, port, backlog }, () => {
      server.off('error', onRefused);
      server.on('error', onError);
      resolve();
    });
  });
}

/** The URL of a listening server without a path, with the port that the system chose for port 0. */
export function serverUrl(scheme: string, server: Server): string {
  const { address, port } = server.address() as AddressInfo;
  return `${scheme}://${authority(address, port)}`;
}

/** Address and port as they stand in a URL (RFC 3986 §3.2). */
export function authority(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}
