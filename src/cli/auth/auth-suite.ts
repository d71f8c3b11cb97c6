import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import type { Credentials } from '../../auth/credentials.ts';
import type { EventPeer } from '../../events/event.ts';
import { ServiceError } from '../../lib/errors.ts';
import { readPlainYaml } from '../../lib/yaml-document.ts';
import { probe, type Target } from './auth-probe.ts';
import { type MethodReport, methodReport } from './method-report.ts';

const caseOptions = z.strictObject({
  name: z.string().optional(),
  username: z.string(),
  password: z.string().optional(),
  ssh_key: z.string().optional(),
  certificate: z.string().optional(),
  expect: z.enum(['authenticated', 'next', 'rejected']),
  /** Members that the account must have. */
  account: z.record(z.string(), z.unknown()).optional(),
});
const suiteOptions = z.union([z.array(caseOptions), z.strictObject({ cases: z.array(caseOptions) }).transform((suite) => suite.cases)]);

/** One case of a suite: credentials and what is expected of them. */
export type SuiteCase = z.infer<typeof caseOptions>;

/** What came of one case; names are those of `--json`. */
export const caseResult = z.strictObject({
  name: z.string(),
  passed: z.boolean(),
  message: z.string(),
  duration_ms: z.number(),
  methods: z.array(methodReport),
});

export type CaseResult = z.infer<typeof caseResult>;

/**
 * Reads a suite: a YAML or JSON list of cases, or a map with the member `cases`.
 *
 * @throws ServiceError `bad-request` naming the case at fault
 */
export function readSuite(path: string): SuiteCase[] {
  let value: unknown;
  try {
    value = readPlainYaml(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new ServiceError('bad-request', `--suite ${path}: ${(error as Error).message.split('\n', 1)[0]}`, { cause: error });
  }
  const list = z.array(z.unknown()).safeParse(Array.isArray(value) ? value : (value as { cases?: unknown } | null)?.cases);
  if (!list.success) throw new ServiceError('bad-request', `--suite ${path}: must be a list of cases.`);
  const result = suiteOptions.safeParse(list.data);
  for (const [index, item] of list.data.entries()) {
    const issue = caseOptions.safeParse(item).error?.issues[0];
    if (issue) throw new ServiceError('bad-request', `--suite ${path}: case ${index + 1}: ${issue.path.join('.')} ${issue.message}`);
  }
  return result.success ? result.data : [];
}

/** Runs the cases in order. */
export async function* runSuite(
  target: Target,
  cases: readonly SuiteCase[],
  peer: EventPeer,
  creatorType: string,
): AsyncGenerator<CaseResult> {
  for (const item of cases) {
    const methods = await probe(target, credentialsOf(item, peer, creatorType));
    const problems = problemsOf(item, methods.at(-1) as MethodReport);
    yield {
      name: item.name ?? `${item.username}: ${item.expect}`,
      passed: problems.length === 0,
      message: problems.join('; '),
      duration_ms: methods.reduce((sum, method) => sum + method.duration_ms, 0),
      methods,
    };
  }
}

function credentialsOf(item: SuiteCase, peer: EventPeer, creatorType: string): Credentials {
  const common = { username: item.username, peer, creator: { uuid: 'svc-auth-test', type: creatorType } };
  if (item.ssh_key !== undefined) return { type: 'ssh-key', content: item.ssh_key, ...common };
  if (item.certificate !== undefined) return { type: 'ssl-certificate', content: item.certificate, ...common };
  return { type: 'password', content: item.password ?? '', ...common };
}

function problemsOf(item: SuiteCase, report: MethodReport): string[] {
  if (report.outcome !== item.expect) return [`expected ${item.expect}, got ${report.outcome} (${report.reason})`];
  return Object.entries(item.account ?? {})
    .filter(([name, expected]) => !isDeepStrictEqual(report.account?.[name], expected))
    .map(([name, expected]) => `account.${name}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(report.account?.[name])}`);
}
