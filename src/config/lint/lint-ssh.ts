import { systemErrorCode } from '../../lib/errors.ts';
import { algorithmsBeyondSecure, algorithmsOf, fitsAlgorithms } from '../../ssh/algorithms.ts';
import { type HostKey, readHostKey } from '../../ssh/host-keys.ts';
import type { Report } from '../findings.ts';
import type { Config } from '../schema/schema.ts';

/**
 * Host keys that cannot be used or that nobody is shown, and algorithms that are not as safe as they could be.
 *
 * @param isRunning whether the keys may have been read before, by a process that was root then
 */
export function lintSsh(config: Config, report: Report, isRunning: boolean): void {
  for (const [uuid, service] of Object.entries(config.services)) {
    if (service.type !== 'ssh' || !service.enabled) continue;
    const at = (...path: PropertyKey[]) => ['services', uuid, ...path];
    const keys = service.host_key_paths.map((path, index) => {
      try {
        return readHostKey(path);
      } catch (error) {
        if (isRunning && systemErrorCode((error as Error).cause) === 'EACCES') return undefined;
        report('error', 'host-key-unusable', at('host_key_paths', index), (error as Error).message);
        return undefined;
      }
    });
    lintKeys(keys, service.ssh_cipher_list, at, report);
    if (keys.length === 0 && config.server.state.type === 'redis')
      report('warning', 'host-key-own', at(), 'each node makes host keys of its own; clients that reach another node see another server');
    const weak = algorithmsBeyondSecure(service.ssh_cipher_list);
    if (weak.length > 0) report('warning', 'ssh-weak', at('ssh_cipher_list'), `offers what "secure" does not: ${weak.join(', ')}`);
  }
}

function lintKeys(
  keys: readonly (HostKey | undefined)[],
  cipherList: readonly string[],
  at: (...path: PropertyKey[]) => PropertyKey[],
  report: Report,
): void {
  const algorithms = algorithmsOf(cipherList);
  const seen = new Set<string>();
  for (const [index, key] of keys.entries()) {
    if (!key) continue;
    const path = at('host_key_paths', index);
    if (seen.has(key.type)) report('warning', 'no-effect', path, `an earlier key is of type ${key.type}, too`);
    else if (!fitsAlgorithms(key.type, algorithms))
      report('warning', 'no-effect', path, `ssh_cipher_list has no algorithm for a key of type ${key.type}`);
    seen.add(key.type);
  }
  if (keys.length > 0 && keys.every((key) => key && !fitsAlgorithms(key.type, algorithms)))
    report('error', 'host-key-unusable', at('host_key_paths'), 'ssh_cipher_list has no algorithm for any of the keys');
}
