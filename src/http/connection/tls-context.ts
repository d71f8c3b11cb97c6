import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { readNamedFile } from '../../lib/disk/named-file.ts';
import { ServiceError } from '../../lib/errors.ts';
import { tlsPairs } from '../../lib/tls-pairs.ts';
import type { HttpServiceOptions } from '../options.ts';

/** What a TLS server needs; re-read at each reload, so that a renewed certificate takes effect. */
export type TlsContext = Required<Pick<SecureContextOptions, 'cert' | 'key' | 'minVersion'>> & { ca?: Buffer };

/** The options of a service that say what it shows its clients. */
type TlsOptions = Pick<HttpServiceOptions, 'tls_certificate_path' | 'tls_key_path' | 'tls_client_ca_path' | 'tls_minimum_version'>;

/**
 * Reads certificates, keys and client CA of an https service; of several keys OpenSSL takes one that the client knows.
 *
 * @throws ServiceError `unavailable` naming the file that cannot be read or used
 */
export function readTlsContext(options: TlsOptions): TlsContext {
  const certificates = readNamed('tls_certificate_path', options.tls_certificate_path);
  const pairs = tlsPairs(certificates.toString('latin1'), readNamed('tls_key_path', options.tls_key_path).toString('latin1'));
  const context: TlsContext = {
    cert: pairs.map(({ certificate }) => certificate),
    key: pairs.map(({ key }) => key),
    minVersion: options.tls_minimum_version,
    ...(options.tls_client_ca_path ? { ca: readNamed('tls_client_ca_path', options.tls_client_ca_path) } : {}),
  };
  try {
    createSecureContext(context);
  } catch (error) {
    throw new ServiceError('unavailable', `tls_certificate_path and tls_key_path cannot be used: ${(error as Error).message}`, {
      cause: error,
    });
  }
  return context;
}

/** Whether the same authorities verify client certificates. */
export function hasSameAuthorities({ ca: one }: TlsContext, { ca: other }: TlsContext): boolean {
  return one === undefined || other === undefined ? one === other : one.equals(other);
}

function readNamed(option: string, path: string | null | undefined): Buffer {
  if (!path) throw new ServiceError('unavailable', `${option} is not set.`);
  return readNamedFile(path, option);
}
