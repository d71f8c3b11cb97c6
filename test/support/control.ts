import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type * as z from 'zod';
import { jsonOutputs } from '../../src/cli/config/schema.ts';
import { type Ended, run } from './child.ts';

/** Runs a command that talks to the running service with this data folder. */
export function control(t: TestContext, dataFolder: string, ...args: string[]): Promise<Ended> {
  return run(t, [...args, '--data-folder', dataFolder], { cwd: dataFolder });
}

/** Returns the items that `list` prints. */
export async function listed<Name extends 'sessions' | 'locks' | 'bans' | 'trash'>(
  t: TestContext,
  dataFolder: string,
  name: Name,
  ...filters: string[]
): Promise<z.infer<(typeof jsonOutputs)[Name]>[]> {
  const end = await control(t, dataFolder, name, 'list', '--json', ...filters);
  assert.deepEqual([end.code, end.stderr], [0, '']);
  const lines = end.stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => jsonOutputs[name].parse(JSON.parse(line)) as z.infer<(typeof jsonOutputs)[Name]>);
}
