import { spawn } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { until } from './receiver.ts';
import { temporaryFolder } from './temp.ts';

export const examples = join(process.env.SVC_ROOT ?? '.', 'examples');

/** Copies an example, and changes the copy so that it serves on a free port. */
export function copyOf(t: TestContext, name: string): string {
  const folder = temporaryFolder(t);
  cpSync(join(examples, name), folder, { recursive: true });
  const path = join(folder, 'svc.config.yaml');
  writeFileSync(path, readFileSync(path, 'utf8').replace(/\bport: 80\d\d/g, 'port: 0'));
  return folder;
}

/** Starts a program of an example on a free port. `printed` returns its output so far. */
export async function program(
  t: TestContext,
  cwd: string,
  command: string,
  file: string,
  env: NodeJS.ProcessEnv = {},
): Promise<{ url: string; printed: () => string }> {
  const child = spawn(command, [file, '0'], { cwd, env: { ...process.env, ...env } });
  t.after(() => child.kill());
  let text = '';
  child.stdout.on('data', (chunk) => {
    text += chunk;
  });
  await until(`${file} listens`, () => text.includes('listening on'));
  return { url: /http:\S+/.exec(text)?.[0] ?? '', printed: () => text };
}
