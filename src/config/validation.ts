import { existsSync } from 'node:fs';
import * as z from 'zod';
import { defaultKeyPaths, readHostKey } from '../ssh/host-keys.ts';
import type { Checked } from './check.ts';
import { type Finding, finding } from './report-shapes.ts';
import type { Config } from './schema/schema.ts';

/** A host key of a service, with the fingerprint by which clients can verify it. */
const listedHostKey = z.strictObject({ service: z.string(), path: z.string(), type: z.string(), fingerprint: z.string() });
type ListedHostKey = z.infer<typeof listedHostKey>;

/** Returns the UUIDs of the enabled SSH services that have no host keys yet. The first start creates the keys. */
export function servicesWithoutHostKeys(config: Config, listed: readonly ListedHostKey[]): string[] {
  return Object.entries(config.services).flatMap(([uuid, options]) =>
    options.type === 'ssh' && options.enabled && options.host_key_paths.length === 0 && !listed.some(({ service }) => service === uuid)
      ? [uuid]
      : [],
  );
}

/** Returns the readable host keys of all enabled SSH services. */
function listHostKeys(config: Config): ListedHostKey[] {
  return Object.entries(config.services).flatMap(([service, options]) => {
    if (options.type !== 'ssh' || !options.enabled) return [];
    const own = defaultKeyPaths(config.server.data_folder_path).filter((path) => existsSync(path));
    const paths = options.host_key_paths.length > 0 ? options.host_key_paths : own;
    return paths.flatMap((path) => {
      try {
        const { type, fingerprint } = readHostKey(path);
        return [{ service, path, type, fingerprint }];
      } catch {
        return [];
      }
    });
  });
}

/** The result of the checks. `--json` prints it with these member names. */
export const validation = z.strictObject({
  valid: z.boolean(),
  file: z.string(),
  findings: z.array(finding),
  host_keys: z.array(listedHostKey).exactOptional().describe('Host keys of the ssh services, if there are any.'),
});

export type Validation = z.infer<typeof validation>;

/**
 * Summarizes the checks of a file.
 *
 * @param options.findings findings to use instead of `checked.findings`
 * @param options.strict whether warnings also make the file invalid
 */
export function toValidation(
  checked: Checked,
  { findings = [...checked.findings], strict = false }: { findings?: Finding[]; strict?: boolean | undefined } = {},
): Validation {
  const hostKeys = checked.loaded ? listHostKeys(checked.loaded.config) : [];
  return {
    valid: !findings.some(({ severity }) => severity === 'error' || strict),
    file: checked.file,
    findings,
    ...(hostKeys.length > 0 && { host_keys: hostKeys }),
  };
}
