import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { ServiceError, systemErrorCode } from './errors.ts';

/**
 * Returns whether a request is HTTP/1.0 with a Transfer-Encoding. A proxy and svc might disagree where such a request ends (RFC 9112 §6.1).
 */
export function isFaultilyFramed({ httpVersion, headers }: { httpVersion: string; headers: IncomingHttpHeaders }): boolean {
  return httpVersion === '1.0' && headers['transfer-encoding'] !== undefined;
}

/**
 * Clears the target and host of a request after svc has read them. Otherwise Hono's adapter would build an unused URL from them, and would
 * answer with an empty 400 if this URL is not valid.
 */
export function acceptAnyHead(incoming: { url?: string | undefined; headers: IncomingHttpHeaders }): void {
  incoming.url = '/';
  incoming.headers.host = '';
}

/** Explains why a server cannot listen and, if it is known, how to solve the problem. */
export function listenFault(error: Error): string {
  switch (systemErrorCode(error)) {
    case 'EADDRINUSE':
      return 'the port is in use by another process';
    case 'EADDRNOTAVAIL':
      return 'no network interface of this machine has the address';
    case 'EACCES':
      return 'permission denied; for a port below 1024, give svc CAP_NET_BIND_SERVICE, or start it as root with server.user, or use another port';
    default:
      return error.message;
  }
}

/** Maximum number of connections that wait to be accepted. The system may have a lower limit. */
const backlog = 4096;

/**
 * Starts to accept connections.
 *
 * @param onError called for errors after the start
 * @throws ServiceError `unavailable` with the address, if it is in use or not permitted
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

/** Returns the URL of a listening server, without a path. If the configured port is 0, the URL has the port that the system chose. */
export function serverUrl(scheme: string, server: Server): string {
  const { address, port } = server.address() as AddressInfo;
  return `${scheme}://${authority(address, port)}`;
}

/** Joins an address and a port as in a URL (RFC 3986 §3.2). */
export function authority(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}
