import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, chmodSync, mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Client } from './client.ts';
import { watchOutput } from './secret-watch.ts';

/**
 * Mounts a small file system (tmpfs), which needs root. Without root the test is skipped and the reason is printed; in CI the test fails.
 */
export function smallDisk(t: TestContext, sizeKib: number): string | undefined {
  const disk = mkdtempSync(join(tmpdir(), 'svc-disk-'));
  if (!mount(t, disk, sizeKib)) {
    rmdirSync(disk);
    return undefined;
  }
  const unmount = () => {
    execFileSync('umount', ['-l', disk]);
    rmdirSync(disk);
  };
  watchOutput(t, unmount, []);
  return disk;
}

/**
 * Creates a home folder with a folder `d` that cannot be removed completely. A member `held` of `d` is a mounted disk if the test runs as
 * root, because a file mode does not stop root. Otherwise `held` is a read-only folder. Call this function before the server starts, so
 * that the home folder is removed after the server has stopped.
 *
 * @returns undefined if it cannot be created; in that case the test is skipped
 */
export function unremovable(t: TestContext): { home: string; left: string } | undefined {
  const home = mkdtempSync(join(tmpdir(), 'svc-held-'));
  const held = join(home, 'd/held');
  mkdirSync(held, { recursive: true });
  const isRoot = process.getuid?.() === 0;
  if (!isRoot) {
    writeFileSync(join(held, 'file'), '');
    chmodSync(held, 0o555);
  } else if (!mount(t, held, 64)) {
    rmSync(home, { recursive: true });
    return undefined;
  }
  const undo = () => {
    if (isRoot) execFileSync('umount', ['-l', held]);
    else chmodSync(held, 0o755);
    rmSync(home, { recursive: true });
  };
  watchOutput(t, undo, []);
  return { home, left: isRoot ? 'held' : 'held/file' };
}

/**
 * Creates a home folder with another file system at `mounted`. Call this before the server starts, so that the disk is unmounted after the
 * server has stopped.
 *
 * @returns undefined without root
 */
export function homeWithDisk(t: TestContext, sizeKib: number): { home: string; mounted: string } | undefined {
  const home = mkdtempSync(join(tmpdir(), 'svc-mounted-'));
  const mounted = join(home, 'mounted');
  mkdirSync(mounted);
  const isMounted = mount(t, mounted, sizeKib);
  const undo = () => {
    if (isMounted) execFileSync('umount', ['-l', mounted]);
    rmSync(home, { recursive: true });
  };
  if (isMounted) watchOutput(t, undo, []);
  else undo();
  return isMounted ? { home, mounted } : undefined;
}

function mount(t: TestContext, at: string, sizeKib: number): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeKib}k`, 'tmpfs', at], { stdio: 'pipe' });
    return true;
  } catch (error) {
    if (process.env.CI === 'true') throw error;
    console.log(`skipped: ${t.name}: mounting a tmpfs is not permitted`);
    t.skip('mounting a tmpfs is not permitted');
    return false;
  }
}

export function fillDisk(path: string): void {
  writeFileSync(path, '');
  assert.throws(() => {
    for (;;) appendFileSync(path, Buffer.alloc(4096, 1));
  }, /ENOSPC/);
}

/** Asserts that every kind of change of the file `/home/a` and of the folder `/home/d/` is refused. */
export async function assertChangesRefused(server: Client, status: number): Promise<void> {
  const changes = ['PUT /home/a', 'PUT /home/new/', 'MKCOL /home/new/', 'COPY /home/a', 'MOVE /home/a', 'MOVE /home/d/', 'DELETE /home/a'];
  for (const change of changes) {
    const [method = '', target = ''] = change.split(' ');
    const body = change === 'PUT /home/a' ? { body: 'new' } : {};
    assert.equal((await server.send(method, target, { headers: { destination: '/home/b' }, ...body })).status, status, change);
  }
}
