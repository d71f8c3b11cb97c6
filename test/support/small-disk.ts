import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, chmodSync, mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Client } from './client.ts';
import { watchOutput } from './secret-watch.ts';

/**
 * A small file system of its own (tmpfs), which needs root. Without it the test is skipped with a printed reason; under CI
 * it fails.
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
  // After the server that uses it is stopped.
  watchOutput(t, unmount, []);
  return disk;
}

/**
 * A home folder with a folder `d` of which the operating system keeps something: by its mode, or from root, whom no mode stops, by a disk
 * mounted there. Made before the server, so that it is undone after it.
 *
 * @returns undefined when it cannot be made; the test is skipped then
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

/** A home folder with another file system at `mounted`; made before the server, so that it goes after it. @returns undefined without root */
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

/** Fills a disk to its last block with one file. */
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
