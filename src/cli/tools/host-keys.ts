import { chownSync, existsSync, statSync } from 'node:fs';
import * as z from 'zod';
import { makeFolders, writeFileAtomically } from '../../lib/disk/durable-files.ts';
import { ServiceError } from '../../lib/errors.ts';
import { defaultKeyPaths, keyPathFor, readHostKey } from '../../ssh/host-keys.ts';
import { type ServiceOptions, serviceFolder } from '../control/service-folder.ts';
import { exitCode } from '../exit-codes.ts';
import { complain, print } from '../output.ts';

/** An imported key. The names of its members are those in the output with `--json`. */
export const importedKey = z.strictObject({
  path: z.string().describe('In the data folder.'),
  type: z.string(),
  fingerprint: z.string(),
  imported: z.boolean().describe('False if the data folder already had the key.'),
});

/** Copies host keys to the data folder. @returns 0 if all of them are in the data folder now */
export async function importHostKeys(files: readonly string[], options: ServiceOptions & { json?: boolean }): Promise<number> {
  const folder = await serviceFolder(options);
  const keys = files.map(readHostKey).map((key) => ({ key, path: keyPathFor(key.type, folder) }));
  for (const { key, path } of keys) {
    const other = existsSync(path)
      ? readHostKey(path)
      : keys.find((one) => one.path === path && one.key.fingerprint !== key.fingerprint)?.key;
    if (other && other.fingerprint !== key.fingerprint)
      throw new ServiceError('bad-request', `${path} has another key (${other.fingerprint}) and is not replaced: move it away first.`);
  }
  makeFolders(folder, { mode: 0o700 });
  for (const { key, path } of keys) {
    const { type, fingerprint } = key;
    const imported = !existsSync(path);
    if (imported) {
      await writeFileAtomically(path, key.text, { mode: 0o600 });
      // The service runs as the owner of its data folder, so this owner must also own the key.
      const { uid, gid } = statSync(folder);
      if (process.getuid?.() === 0) chownSync(path, uid, gid);
    }
    if (options.json) print(JSON.stringify({ path, type, fingerprint, imported }));
    else print(`${path}: ${fingerprint} (${type})${imported ? '' : ', there already'}`);
  }
  const beyond = keys.filter(({ path }) => !defaultKeyPaths(folder).includes(path)).map(({ path }) => path);
  if (beyond.length > 0)
    complain(
      `Add the paths of all host keys, including ${beyond.join(', ')}, to host_key_paths of the service: without that option, only Ed25519 and RSA keys are read.`,
    );
  return exitCode.done;
}
