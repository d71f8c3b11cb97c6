// The same build without the events of reads, to see what they cost.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { executableOptions } from '../../bundle-options.mjs';

/** @param folder where the bundle goes @returns its path */
export async function buildWithoutReadEvents(folder) {
  const outfile = join(folder, 'svc-without-read-events.mjs');
  const without = {
    name: 'without-read-events',
    setup(setup) {
      setup.onLoad({ filter: /[\\/]src[\\/]events[\\/]dispatcher\.ts$/ }, ({ path }) => {
        const text = readFileSync(path, 'utf8');
        const contents = text.replace('emitGrouped(draft: EventDraft): void {', '$& if (draft.id >= 40000) return;');
        if (contents === text) throw new Error('emitGrouped is not where it was.');
        return { contents, loader: 'ts' };
      });
    },
  };
  await build({ ...executableOptions, outfile, plugins: [without, ...executableOptions.plugins] });
  return outfile;
}
