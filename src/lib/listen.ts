import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { ServiceError, systemErrorCode } from './errors.ts';

/** Whether a request is HTTP/1.0 with a Transfer-Encoding. A proxy might disagree where it ends (RFC 9112 §6.1). */
export function isFaultilyFramed({ httpVersion, headers }: { httpVersion: string; headers: IncomingHttpHeaders }): boolean {
  return httpVersion === '1.0' && headers['transfer-encoding'] !== undefined;
}

/** Clears the target and host of a request. Hono's adapter would answer with an empty 400 if they form no valid URL. */
export function acceptAnyHead(incoming: { url?: string | undefined; headers: IncomingHttpHeaders }): void {
  incoming.url = '/';
  incoming.headers.host = '';
}

/** Explains why a server cannot listen and, if known, the solution. */
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

/** Connections that wait to be accepted. The system may have a lower limit. */
const backlog = 4096;

/**
 * Starts to accept connections.
 *
 * @param onError called for later errors
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

/** Returns the URL of a listening server, without a path and with its real port. */
export function serverUrl(scheme: string, server: Server): string {
  const { address, port } = server.address() as AddressInfo;
  return `${scheme}://${authority(address, port)}`;
}

/** Joins address and port (RFC 3986 §3.2). */
export function authority(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}
