import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { allowSecrets, type Ending } from './secret-watch.ts';
import { testUser } from './secrets.ts';

/** The scripts of examples/uploads, and what runs each. */
export const uploadScripts = {
  'upload.sh': { program: 'sh', needs: 'curl' },
  'upload.py': { program: 'python3', needs: 'python3' },
} as const;

export type UploadScript = keyof typeof uploadScripts;

/** Writes the password of the scripts into their home folder. */
export function writeNetrc(t: Ending, folder: string): void {
  const [login, password] = testUser.split(':');
  writeFileSync(join(folder, '.netrc'), `machine 127.0.0.1 login ${login} password ${password}\n`, { mode: 0o600 });
  allowSecrets(t, /(^|\/)\.netrc$/, 'the scripts read the password there');
}

/** A script that runs. */
export interface RunningScript {
  child: ChildProcess;
  /** Its exit code, null when it was killed, and what it printed as errors. */
  ended: Promise<{ code: number | null; stderr: string }>;
}

/** Starts a script of examples/uploads, as a group of processes of its own. @param folder where `.netrc` is */
export function startUploadScript(script: UploadScript, folder: string, file: string, url: string): RunningScript {
  const path = join(process.env.SVC_ROOT ?? '.', 'examples/uploads', script);
  const child = spawn(uploadScripts[script].program, [path, file, url, '0.05'], {
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, HOME: folder },
  });
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const ended = new Promise<{ code: number | null; stderr: string }>((resolve) => child.on('close', (code) => resolve({ code, stderr })));
  return { child, ended };
}
