import { mkdirSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import * as z from 'zod';
import { type CaseFile, type ConfigCase, readCases } from '../../config/cases/case-file.ts';
import { runCase } from '../../config/cases/run-case.ts';
import { requireConfigFile } from '../../config/check.ts';
import { parseConfig } from '../../config/reading/load.ts';
import { readSource } from '../../config/reading/source.ts';
import type { Config } from '../../config/schema/schema.ts';
import { systemClock } from '../../lib/clock.ts';
import { ServiceError, systemErrorCode } from '../../lib/errors.ts';
import { lineDiff } from '../../lib/line-diff.ts';
import { reportCases, verdict } from '../case-report.ts';
import { exitCode } from '../exit-codes.ts';
import { readNamedFile, writeNamedFile } from '../file-fault.ts';
import { print, visible } from '../output.ts';

/** Options of `svc test`. */
export interface ConfigTestOptions {
  config?: string;
  update?: boolean;
  junit?: string;
  json?: boolean;
}

/** The result of one case. The names of its members are those in the output with `--json`. */
const caseResult = z.strictObject({
  name: z.string(),
  passed: z.boolean(),
  problems: z.array(z.string()),
  duration_ms: z.number(),
  actual: z.unknown().describe('The complete outcome, as in golden files.'),
});

type CaseResult = z.infer<typeof caseResult>;

export const testReport = z.strictObject({ passed: z.int(), failed: z.int(), cases: z.array(caseResult) });

/** Runs the unit tests of a configuration. @returns 0 if all pass, otherwise 1 */
export async function configTest(file: string, options: ConfigTestOptions): Promise<number> {
  const isStdin = file === '-';
  const folder = isStdin ? process.cwd() : dirname(resolve(file));
  const name = isStdin ? 'stdin' : file;
  const cases = readCases(readNamedFile(`Cannot read the cases ${name}`, isStdin ? 0 : file), name);
  if (cases.cases.length === 0) throw new ServiceError('bad-request', `${file} has no cases.`);
  const config = await loadTested(cases, folder, options);
  const results = cases.cases.map((item) => runTimed(config, item, folder, options.update === true));
  const failed = results.filter((result) => !result.passed).length;
  const report: z.infer<typeof testReport> = { passed: results.length - failed, failed, cases: results };
  if (options.json) print(JSON.stringify(report, null, 2));
  else for (const result of results) print(resultText(result));
  const reported = results.map((result) => ({ ...result, message: result.problems.join('\n') }));
  return reportCases('svc test', reported, options) ? exitCode.done : exitCode.no;
}

async function loadTested(cases: CaseFile, folder: string, options: ConfigTestOptions): Promise<Config> {
  const env = { ...process.env, ...cases.env };
  const named = options.config ?? (cases.config === undefined ? undefined : resolve(folder, cases.config));
  return parseConfig(readSource(await requireConfigFile({ file: named, cwd: process.cwd(), env })), env);
}

function runTimed(config: Config, item: ConfigCase, folder: string, isUpdate: boolean): CaseResult {
  const startedMs = systemClock.monotonicMs();
  const { name, problems, actual } = runCase(config, item);
  if (item.golden !== undefined) problems.push(...compareGolden(resolve(folder, item.golden), actual, isUpdate));
  const durationMs = Math.round(systemClock.monotonicMs() - startedMs);
  return { name, passed: problems.length === 0, problems, duration_ms: durationMs, actual };
}

/** Compares a result with its golden file. With `isUpdate`, the file is written instead. @returns the differences as lines */
function compareGolden(file: string, actual: unknown, isUpdate: boolean): string[] {
  const text = `${JSON.stringify(actual, null, 2)}\n`;
  if (isUpdate) {
    mkdirSync(dirname(file), { recursive: true });
    writeNamedFile(`Cannot write ${file}`, file, text);
    return [];
  }
  let expected: string;
  try {
    expected = readFileSync(file, 'utf8').replaceAll('\r\n', '\n');
  } catch (error) {
    if (systemErrorCode(error) !== 'ENOENT') throw new ServiceError('bad-request', `golden: ${(error as Error).message}`, { cause: error });
    return [`${file} does not exist; --update writes it`];
  }
  return expected === text ? [] : [`differs from ${file}:`, ...lineDiff(expected, text)];
}

function resultText({ name, passed, problems }: CaseResult): string {
  return [`${verdict(passed)} ${visible(name)}`, ...problems.map((problem) => `       ${visible(problem)}`)].join('\n');
}
