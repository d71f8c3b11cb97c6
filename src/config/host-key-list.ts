import { existsSync } from 'node:fs';
import * as z from 'zod';
import { ownKeyPaths, readHostKey } from '../ssh/host-keys.ts';
import type { Config } from './schema/schema.ts';

/** A host key as clients are told of it beforehand. */
export const listedHostKey = z.strictObject({ service: z.string(), path: z.string(), type: z.string(), fingerprint: z.string() });
export type ListedHostKey = z.infer<typeof listedHostKey>;

/** UUIDs of the enabled SSH services whose host keys are still to be made, at the first start. */
export function servicesWithoutHostKeys(config: Config, listed: readonly ListedHostKey[]): string[] {
  return Object.entries(config.services).flatMap(([uuid, options]) =>
    options.type === 'ssh' && options.enabled && options.host_key_paths.length === 0 && !listed.some(({ service }) => service === uuid)
      ? [uuid]
      : [],
  );
}

/** The host keys of all enabled SSH services, as far as they are made and can be read. */
export function listHostKeys(config: Config): ListedHostKey[] {
  return Object.entries(config.services).flatMap(([service, options]) => {
    if (options.type !== 'ssh' || !options.enabled) return [];
    const own = ownKeyPaths(config.server.data_folder_path).filter((path) => existsSync(path));
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
