import { spawn } from 'node:child_process';

export interface ProgramEnd {
  code: number | null;
  output: string;
}

/** Runs a foreign program to its end. stdout and stderr are collected together. */
export function runProgram(
  program: string,
  args: readonly string[],
  options: { cwd: string; env?: Record<string, string>; input?: string; timeoutMs?: number },
): Promise<ProgramEnd> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: options.cwd,
      env: { PATH: process.env.PATH ?? '', HOME: options.cwd, LC_ALL: 'C.UTF-8', ...options.env },
      timeout: options.timeoutMs ?? 60_000,
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        output += chunk;
      });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
    child.stdin.on('error', () => {});
    child.stdin.end(options.input ?? '');
  });
}
