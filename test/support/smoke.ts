import { execFile } from 'node:child_process';

/** Runs a benchmark as short as it can be; what it measures does not matter here. */
export function smoke(args: string[]): Promise<{ code: number | null; output: string; faults: string }> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, args, { timeout: 600_000 }, (_, output, faults) =>
      resolve({ code: child.exitCode, output, faults }),
    );
  });
}
