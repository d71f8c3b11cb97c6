import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { allowSecrets, type Ending } from './secret-watch.ts';
import { testUser } from './secrets.ts';

/** The scripts of examples/uploads, with the programs that run them. */
export const uploadScripts = {
  'upload.sh': { program: 'sh', needs: 'curl' },
  'upload.py': { program: 'python3', needs: 'python3' },
} as const;

export type UploadScript = keyof typeof uploadScripts;

export function writeNetrc(t: Ending, folder: string): void {
  const [login, password] = testUser.split(':');
  writeFileSync(join(folder, '.netrc'), `machine 127.0.0.1 login ${login} password ${password}\n`, { mode: 0o600 });
  allowSecrets(t, /(^|\/)\.netrc$/, 'the scripts read the password there');
}

/** A running script. */
export interface RunningScript {
  child: ChildProcess;
  /** Resolves with the script's error output and its exit code, which is null if the script was killed. */
  ended: Promise<{ code: number | null; stderr: string }>;
}

/** Starts a script of examples/uploads in its own process group. @param folder folder that contains `.netrc` */
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
