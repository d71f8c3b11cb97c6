import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExpectationStore } from '../../expectations/watch.ts';
import { writeFileAtomically } from '../../lib/disk/durable-files.ts';

/** Stores the time at which the watch of each expectation began, in a file of the data folder. A damaged file is treated as empty. */
export function fileExpectations(dataFolderPath: string): ExpectationStore {
  const path = join(dataFolderPath, 'expectations.json');
  return {
    isTeller: async () => true,
    inForce: async () => new Map(Object.entries(readKnown(path))),
    async since(uuids, nowMs) {
      const known = readKnown(path);
      const since = new Map(uuids.map((uuid) => [uuid, known[uuid] ?? nowMs]));
      const text = `${JSON.stringify(Object.fromEntries(since))}\n`;
      if (text !== `${JSON.stringify(known)}\n`) await writeFileAtomically(path, text, { mode: 0o600 });
      return since;
    },
  };
}

function readKnown(path: string): Record<string, number> {
  try {
    const known: unknown = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
    const isTime = (entry: [string, unknown]): entry is [string, number] => typeof entry[1] === 'number';
    return Object.fromEntries(Object.entries(known ?? {}).filter(isTime));
  } catch {
    return {};
  }
}
