import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import type { Credentials } from '../../auth/credentials.ts';
import type { Target } from '../../config/probe/method-probe.ts';
import { type ProbedLogin, probeLogin } from '../../config/probe/probe-report.ts';
import { loginOutcome, methodReport } from '../../config/report-shapes.ts';
import type { EventPeer } from '../../events/event.ts';
import { ServiceError } from '../../lib/errors.ts';
import { readPlainYaml } from '../../lib/yaml-document.ts';
import { fileFault } from '../file-fault.ts';

const caseOptions = z.strictObject({
  name: z.string().optional(),
  username: z.string(),
  password: z.string().optional(),
  ssh_key: z.string().optional(),
  certificate: z.string().optional(),
  expect: loginOutcome,
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
    throw new ServiceError('bad-request', `--suite ${path}: ${fileFault('read', error).split('\n', 1)[0]}`, { cause: error });
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
  targetOf: (creatorType: string) => Target,
  cases: readonly SuiteCase[],
  peer: EventPeer,
  creatorType: string | undefined,
): AsyncGenerator<CaseResult> {
  for (const item of cases) {
    const type = creatorType ?? (item.ssh_key === undefined ? 'https' : 'ssh');
    const probed = await probeLogin(targetOf(type), credentialsOf(item, peer, type));
    const { methods } = probed;
    const problems = problemsOf(item, probed);
    yield {
      name: item.name ?? `${item.username}: ${item.expect}`,
      passed: problems.length === 0,
      message: problems.join('; '),
      duration_ms: methods.reduce((sum, method) => sum + method.duration_ms, 0),
      methods,
    };
  }
}

function credentialsOf(item: SuiteCase, peer: EventPeer, creatorType: string): Credentials[] {
  const common = { username: item.username, peer, creator: { uuid: 'svc-auth-test', type: creatorType } };
  if (item.certificate !== undefined) return [{ type: 'ssl-certificate', content: item.certificate, ...common }];
  const { ssh_key, password = ssh_key === undefined ? '' : undefined } = item;
  return [
    ...(ssh_key === undefined ? [] : [{ type: 'ssh-key' as const, content: ssh_key, ...common }]),
    ...(password === undefined ? [] : [{ type: 'password' as const, content: password, ...common }]),
  ];
}

function problemsOf(item: SuiteCase, { outcome, last: report, login }: ProbedLogin): string[] {
  if (outcome !== item.expect) return [`expected ${item.expect}, got ${outcome} (${login?.credentials.at(-1)?.reason ?? report.reason})`];
  return Object.entries(item.account ?? {})
    .filter(([name, expected]) => !isDeepStrictEqual(report.account?.[name], expected))
    .map(([name, expected]) => `account.${name}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(report.account?.[name])}`);
}
