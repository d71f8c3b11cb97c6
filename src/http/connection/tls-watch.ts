import { statSync } from 'node:fs';
import type { Clock, Timer } from '../../lib/clock.ts';
import { systemErrorCode } from '../../lib/errors.ts';
import type { HttpServiceOptions } from '../options.ts';

/** How often the files are looked at. */
const lookEveryMs = 5000;

type TlsFiles = Pick<HttpServiceOptions, 'tls_certificate_path' | 'tls_key_path' | 'tls_client_ca_path'>;

/**
 * Watches certificate, key and client CA of a service, so that renewing them on disk is enough. The files are looked at, not
 * subscribed to: renewals replace files and links in ways that notifications miss.
 *
 * @param onChange tries to take the files over; false = not yet (a pair that is being written), it is asked again
 */
export function watchTlsFiles(files: () => TlsFiles, clock: Clock, onChange: () => boolean): Timer {
  let seen = signatureOf(files());
  return clock.every(lookEveryMs, () => {
    const now = signatureOf(files());
    if (now !== undefined && now !== seen && onChange()) seen = now;
  });
}

/** @returns undefined when they are out of reach, as for a process that gave up the rights that it read them with */
function signatureOf(files: TlsFiles): string | undefined {
  try {
    return [files.tls_certificate_path, files.tls_key_path, files.tls_client_ca_path].map(stampOf).join(' ');
  } catch (error) {
    if (systemErrorCode(error) === 'EACCES') return undefined;
    throw error;
  }
}

function stampOf(path: string): string {
  const stats = path === '' ? undefined : statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats ? `${path}:${stats.ino}:${stats.size}:${stats.mtimeNs}` : path;
}
