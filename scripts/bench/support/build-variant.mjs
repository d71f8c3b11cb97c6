// Other builds of svc to measure beside the one of these sources.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { executableOptions } from '../../bundle-options.mjs';

/** The build of a commit, with the packages that it names; it is kept in .cache. @returns the executable's path */
export function buildOfCommit(commit) {
  const hash = execFileSync('git', ['rev-parse', `${commit}^{commit}`], { encoding: 'utf8' }).trim();
  const root = join(process.cwd(), '.cache/builds', hash);
  const executable = join(root, 'dist/svc.mjs');
  if (existsSync(executable)) return executable;
  rmSync(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  mkdirSync(root, { recursive: true });
  const run = (command, args) => execFileSync(command, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  const archive = execFileSync('git', ['archive', hash], { maxBuffer: 2 ** 30 });
  execFileSync('tar', ['-x'], { cwd: root, input: archive });
  const lock = (where) => readFileSync(join(where, 'package-lock.json'), 'utf8');
  if (lock(root) === lock('.')) symlinkSync(join(process.cwd(), 'node_modules'), join(root, 'node_modules'));
  else run('npm', ['ci', '--silent']);
  run(process.execPath, ['scripts/build.mjs', '--quiet']);
  return executable;
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
