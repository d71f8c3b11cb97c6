import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { temporaryFolder } from './temp.ts';

/** A copy of this machine's files that may be changed. */
export interface MachineCopy {
  /** Runs a shell script in the copy as root. */
  run(script: string): { status: number | null; stdout: string; stderr: string };
  /** Returns the files that are new or changed in the copy. */
  changed(): string[];
}

/**
 * Creates a copy of this machine's files without Node.js: an overlay in the mount namespace of each script, with `folder` mounted at
 * `/mnt`. The copy is removed at the end of the test. Returns undefined, and prints the reason, if this machine does not allow it.
 */
export function machineCopy(t: TestContext, folder: string): MachineCopy | undefined {
  const place = temporaryFolder(t);
  for (const name of ['changes', 'work', 'root']) mkdirSync(join(place, name));
  const inside = `mount -t overlay overlay -o lowerdir=/,upperdir=${place}/changes,workdir=${place}/work ${place}/root &&
    cd ${place}/root && mount -t proc proc proc && mount --rbind /dev dev && mount --bind ${folder} mnt &&
    rm -f bin/node usr/bin/node usr/local/bin/node && exec chroot . sh -ec "$0"`;
  const run: MachineCopy['run'] = (script) =>
    spawnSync('unshare', ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', inside, script], {
      encoding: 'utf8',
      env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' },
    });
  const { status, stderr } = run('! command -v node');
  if (status === 0) return { run, changed: () => filesBelow(join(place, 'changes')) };
  const reason = `no copy of the machine can be made here: ${stderr.trim()}`;
  if (process.env.CI === 'true') throw new Error(reason);
  console.log(`skipped: ${t.name}: ${reason}`);
  t.skip(reason);
  return undefined;
}

/** Returns the changed files and symlinks of an overlay. Deleted files, each of which the overlay represents by a device, are left out. */
function filesBelow(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const names = entries.filter((entry) => entry.isFile() || entry.isSymbolicLink()).map(({ parentPath, name }) => join(parentPath, name));
  return names.map((name) => name.slice(folder.length)).sort();
}
