import { statSync } from 'node:fs';
import type { Clock, Timer } from '../../lib/clock.ts';
import { systemErrorCode } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import type { HttpServiceOptions } from '../options.ts';

/** How often the files are looked at. */
const lookEveryMs = 5000;

type TlsFiles = Pick<HttpServiceOptions, 'tls_certificate_path' | 'tls_key_path' | 'tls_client_ca_path'>;

/** A service whose files are watched. */
interface Watched {
  uuid: string;
  options: TlsFiles;
  clock: Clock;
  log: Log;
}

/**
 * Watches certificate, key and client CA of a service, so that renewing them on disk is enough. The files are looked at, not
 * subscribed to: renewals replace files and links in ways that notifications miss.
 *
 * @param service as it is at present
 * @param renew takes the files over, or throws when they do not fit together: the certificate may be there before its key. The old ones
 *   stay then, and it is tried again.
 */
export function watchTlsFiles(service: () => Watched, renew: () => void): Timer {
  let seen = signatureOf(service().options);
  return service().clock.every(lookEveryMs, () => {
    const { uuid, options, log } = service();
    const now = signatureOf(options);
    if (now === undefined || now === seen) return;
    try {
      renew();
      seen = now;
      log.info('the TLS files changed and are in use', { service: uuid });
    } catch (error) {
      log.warn('the TLS files changed and cannot be used; the old ones stay', { service: uuid, reason: error });
    }
  });
}

/** @returns undefined when they are out of reach, as for a process that gave up the rights that it read them with, or behind links in a circle */
function signatureOf(files: TlsFiles): string | undefined {
  try {
    return [files.tls_certificate_path, files.tls_key_path, files.tls_client_ca_path].map(stampOf).join(' ');
  } catch (error) {
    if (systemErrorCode(error) !== undefined) return undefined;
    throw error;
  }
}

function stampOf(path: string): string {
  const stats = path === '' ? undefined : statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats ? `${path}:${stats.ino}:${stats.size}:${stats.mtimeNs}` : path;
}
