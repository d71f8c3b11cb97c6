import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readlinkSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { program } from './child.ts';
import { temporaryFolder } from './temp.ts';

/**
 * Creates a project with the files of an example, and with `svc` at the path where npm installs it.
 *
 * @returns its folder
 */
export function projectOf(t: TestContext, example: string): string {
  const cwd = temporaryFolder(t);
  cpSync(join(process.env.SVC_ROOT ?? '.', 'examples', example), cwd, { recursive: true });
  mkdirSync(join(cwd, 'node_modules/.bin'), { recursive: true });
  symlinkSync(program.at(-1) as string, join(cwd, 'node_modules/.bin/svc'));
  return cwd;
}

export interface ScriptEnd {
  code: number | null;
  output: string;
}

/**
 * Runs the `ci.sh` of a project, with no environment variables but PATH and HOME. At the end of the test, all processes in the project's
 * folder are ended.
 *
 * @param onOutput called with the output so far
 */
export function runCiScript(
  t: TestContext,
  cwd: string,
  onOutput: (output: string, script: ChildProcess) => void = () => {},
): Promise<ScriptEnd> {
  const env = { PATH: process.env.PATH ?? '', HOME: cwd };
  const script = spawn('bash', ['ci.sh'], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  t.after(() => {
    for (const pid of processesIn(cwd)) process.kill(pid, 'SIGKILL');
  });
  let output = '';
  for (const stream of [script.stdout, script.stderr])
    stream.on('data', (chunk) => {
      output += chunk;
      onOutput(output, script);
    });
  // Waits for the exit of the script, not for the end of its output. Processes that the script left behind would keep the output open.
  return new Promise((resolve) => script.on('exit', (code) => resolve({ code, output })));
}

/** Returns the processes whose working folder is `cwd`. */
export function processesIn(cwd: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/cwd`) === cwd;
      } catch {
        return false;
      }
    });
}
