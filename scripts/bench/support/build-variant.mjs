// Builds another commit, to measure it together with the current sources.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

/** Builds a commit with the packages in its lock file, and keeps the build in .cache. @returns path of the executable */
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
