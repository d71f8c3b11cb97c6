// Other builds of svc to measure beside the one of these sources.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { executableOptions } from '../../bundle-options.mjs';

/** The build of a commit, with the packages that it names. @param folder where it is made @returns the executable's path */
export function buildOfCommit(commit, folder) {
  const root = join(folder, `build-of-${commit}`);
  mkdirSync(root);
  const run = (command, args) => execFileSync(command, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  const archive = execFileSync('git', ['archive', commit], { maxBuffer: 2 ** 30 });
  execFileSync('tar', ['-x'], { cwd: root, input: archive });
  const lock = (where) => readFileSync(join(where, 'package-lock.json'), 'utf8');
  if (lock(root) === lock('.')) symlinkSync(join(process.cwd(), 'node_modules'), join(root, 'node_modules'));
  else run('npm', ['ci', '--silent']);
  run(process.execPath, ['scripts/build.mjs', '--quiet']);
  return join(root, 'dist/svc.mjs');
}

/** The same build without the events of reads, to see what they cost. @param folder where the bundle goes @returns its path */
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
