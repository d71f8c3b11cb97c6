import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';

/** Runs a benchmark for as short a time as possible. Its measurements do not matter here. */
export function smoke(args: string[]): Promise<{ code: number | null; output: string; faults: string }> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, args, { timeout: 600_000 }, (_, output, faults) =>
      resolve({ code: child.exitCode, output, faults }),
    );
  });
}

/**
 * Declares a test for each part.
 *
 * @param parts for each part, the table rows in which svc must have a figure, because every machine that runs the long tests can measure them
 */
export function testParts(parts: Readonly<Record<string, readonly string[]>>): void {
  for (const [part, workloads] of Object.entries(parts))
    test(`npm run bench -- ${part} --smoke runs on svc and on the peers that are installed`, async () => {
      const { code, output, faults } = await smoke(['scripts/bench/run.mjs', part, '--smoke']);
      assert.equal(code, 0, faults);
      const rows = output.split('\n');
      for (const workload of workloads) {
        const row = rows.find((line) => line.startsWith(`| ${workload}`));
        assert.match(row ?? '', /^\| [^|]+ \| -?[\d.,]+ (?:· [^|]+)?\|/, `${workload}: a figure of svc`);
      }
    });
}
