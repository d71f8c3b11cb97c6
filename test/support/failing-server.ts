import assert from 'node:assert/strict';
import { readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { journalFolder } from '../../src/events/journal/file-event-log.ts';
import { start } from './child.ts';
import { Client } from './client.ts';
import { readEvents } from './journal.ts';
import { type TestConfig, writeConfig } from './server.ts';
import { temporaryFolder } from './temp.ts';

const preload = join(process.env.SVC_ROOT ?? process.cwd(), 'test/support/failing-disk.cjs');

/** Starts a server in a separate process whose disk fails on command. */
export async function startOnFailingDisk(t: TestContext, folder = temporaryFolder(t), config: TestConfig = {}) {
  const control = join(folder, 'failing');
  await writeConfig(folder, config);
  const running = start(t, ['serve', '--log-level', 'error'], {
    cwd: folder,
    env: { NODE_OPTIONS: `--require ${preload}`, FAILING_DISK: control },
  });
  const [, url = ''] = await running.line(/(http:\S+)\/\n/);
  const home = join(folder, 'home');
  const stop = async () => {
    running.child.kill('SIGTERM');
    assert.equal((await running.ended).code, 0);
  };
  const openPaths = () => {
    const folder = `/proc/${running.child.pid}/fd`;
    return readdirSync(folder).flatMap((fd) => {
      try {
        return readlinkSync(join(folder, fd));
      } catch {
        // The server has closed the descriptor meanwhile.
        return [];
      }
    });
  };
  /** Stops the server. @returns the events with the given IDs (by default, those of uploads), by path */
  const told = async (wanted = ['40017', '40021', '40022']): Promise<Map<string, string[]>> => {
    await stop();
    const ids = new Map<string, string[]>();
    const bad = ({ reason }: { reason: string }) => assert.fail(reason);
    for await (const { event } of readEvents(journalFolder(join(folder, 'data')), undefined, bad)) {
      const path = String(event.data.path);
      if (wanted.includes(event.id)) ids.set(path, [...(ids.get(path) ?? []), event.id]);
    }
    return ids;
  };
  return {
    stop,
    openPaths,
    output: running.stdout,
    client: new Client(url),
    folder,
    home,
    stored: (name: string) => readFileSync(join(home, name)),
    /** Returns the hidden files that the server has open. */
    opened: () => openPaths().filter((path) => path.includes('/.svc-')),
    /** Returns the paths that the server has open: of the home folder, and of files and folders in it. */
    openedAtHome: () => openPaths().filter((path) => path.startsWith(home)),
    hidden: () => readdirSync(home).filter((name) => name.startsWith('.svc-')),
    /** @param fault lines `FUNCTION PART`, in the notation of test/support/failing-disk.cjs */
    async whileFailing<T>(fault: string, action: () => Promise<T>): Promise<T> {
      writeFileSync(control, fault.replaceAll('HOME', home));
      try {
        return await action();
      } finally {
        rmSync(control);
      }
    },
    told,
  };
}
