import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { type Credentials, parseKeyBlob } from '../auth/credentials.ts';
import type { Target } from '../config/probe/method-probe.ts';
import { certificateCommonName, type ProbedLogin, probeLogin } from '../config/probe/probe-report.ts';
import { loginOutcome, methodReport } from '../config/report-shapes.ts';
import type { EventPeer } from '../events/event.ts';
import { peerAt } from '../events/event-factory.ts';
import { readingFault } from '../lib/disk/named-file.ts';
import { ServiceError } from '../lib/errors.ts';
import { parseAddressPort } from '../lib/headers/forwarded-header.ts';
import { readPlainYaml } from '../lib/yaml-document.ts';
import { keyLineFault } from '../ssh/public-keys.ts';
import { readNamedFile } from './file-fault.ts';
import { readLine } from './prompt.ts';

/** Options that name a client and its credentials. */
export interface CredentialOptions {
  username?: string;
  password?: string;
  passwordStdin?: boolean;
  sshKey?: string;
  certificate?: string;
  /** ID of a token. */
  token?: string;
  peer?: string;
  creatorType?: string;
}

/** Returns the type of the service to which the client would send its credentials. */
export function componentType({ creatorType, sshKey }: CredentialOptions): string {
  return creatorType ?? (sshKey ? 'ssh' : 'https');
}

/**
 * Reads the credentials that the options of `svc auth-test` name. They are one credential, or a key and then a password.
 *
 * @throws ServiceError `bad-request` for any other combination
 */
export async function readCredentials(options: CredentialOptions): Promise<Credentials[]> {
  const { certificate, sshKey, username } = options;
  const hasPassword = options.password !== undefined || options.passwordStdin === true;
  const isTwice = options.password !== undefined && options.passwordStdin === true;
  const kinds = [certificate, options.token, sshKey ?? (hasPassword ? '' : undefined)].filter((kind) => kind !== undefined);
  if (isTwice || kinds.length !== 1)
    throw new ServiceError(
      'bad-request',
      'Give one of --password, --password-stdin, --ssh-key, --certificate and --token, or a key together with a password.',
    );
  const common = { peer: parsePeer(options.peer), creator: { uuid: 'svc-auth-test', type: componentType(options) } };
  if (certificate !== undefined) {
    const pem = readNamedFile(`--certificate ${certificate}`, certificate);
    return [{ type: 'ssl-certificate', username: username ?? commonName(pem), content: pem, ...common }];
  }
  if (username === undefined) throw new ServiceError('bad-request', '--username is missing.');
  if (options.token !== undefined) return [{ type: 'token', username, content: options.token, ...common }];
  const presented: Credentials[] = [];
  if (sshKey !== undefined) {
    const line = readNamedFile(`--ssh-key ${sshKey}`, sshKey);
    const fault = common.creator.type === 'ssh' ? keyLineFault(line) : undefined;
    if (fault !== undefined) process.stderr.write(`svc: warning: --ssh-key ${fault}\n`);
    presented.push({ type: 'ssh-key', username, content: keyBlob(line), ...common });
  }
  if (hasPassword) {
    const content = options.password ?? (await readLine(process.stdin));
    presented.push({ type: 'password', username, content, ...common });
  }
  return presented;
}

function keyBlob(line: string): string {
  const blob = parseKeyBlob(line);
  if (blob === undefined) throw new ServiceError('bad-request', '--ssh-key: the file is not an OpenSSH public key.');
  return blob;
}

function commonName(pem: string): string {
  let name: string | undefined;
  try {
    name = certificateCommonName(pem);
  } catch (error) {
    throw new ServiceError('bad-request', `--certificate: ${(error as Error).message}`, { cause: error });
  }
  if (name === undefined) throw new ServiceError('bad-request', '--certificate: the certificate has no common name; give --username.');
  return name;
}

/** Reads the address of `--peer`. @throws ServiceError `bad-request` for any other text */
export function parsePeer(text: string | undefined): EventPeer {
  const client = parseAddressPort(text ?? '127.0.0.1:0');
  if (!client) throw new ServiceError('bad-request', '--peer takes ADDRESS or ADDRESS:PORT; write IPv6 addresses in brackets.');
  return peerAt(client.address, client.port);
}

const caseOptions = z.strictObject({
  name: z.string().optional(),
  username: z.string(),
  password: z.string().optional(),
  ssh_key: z.string().optional(),
  certificate: z.string().optional(),
  /** ID of a token. The methods are asked as if the token's secret had already been verified. */
  token: z.string().optional(),
  expect: loginOutcome,
  /** Members that the account must have, with their values. */
  account: z.record(z.string(), z.unknown()).optional(),
});
const suiteOptions = z.union([z.array(caseOptions), z.strictObject({ cases: z.array(caseOptions) }).transform((suite) => suite.cases)]);

export type SuiteCase = z.infer<typeof caseOptions>;

/** The result of one case. The names of its members are those in the output with `--json`. */
export const caseResult = z.strictObject({
  name: z.string(),
  passed: z.boolean(),
  message: z.string(),
  duration_ms: z.number(),
  methods: z.array(methodReport),
});

export type CaseResult = z.infer<typeof caseResult>;

/**
 * Reads a suite. It is a YAML or JSON list of cases, or a map with the member `cases`.
 *
 * @throws ServiceError `bad-request`, which names the wrong case
 */
export function readSuite(path: string): SuiteCase[] {
  let value: unknown;
  try {
    value = readPlainYaml(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new ServiceError('bad-request', `--suite ${path}: ${readingFault(path, error).split('\n', 1)[0]}`, { cause: error });
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
  makeTarget: (creatorType: string) => Target,
  cases: readonly SuiteCase[],
  peer: EventPeer,
  creatorType: string | undefined,
): AsyncGenerator<CaseResult> {
  for (const item of cases) {
    const type = creatorType ?? (item.ssh_key === undefined ? 'https' : 'ssh');
    const probed = await probeLogin(makeTarget(type), caseCredentials(item, peer, type));
    const { methods } = probed;
    const problems = findProblems(item, probed);
    yield {
      name: item.name ?? `${item.username}: ${item.expect}`,
      passed: problems.length === 0,
      message: problems.join('; '),
      duration_ms: methods.reduce((sum, method) => sum + method.duration_ms, 0),
      methods,
    };
  }
}

function caseCredentials(item: SuiteCase, peer: EventPeer, creatorType: string): Credentials[] {
  const common = { username: item.username, peer, creator: { uuid: 'svc-auth-test', type: creatorType } };
  if (item.certificate !== undefined) return [{ type: 'ssl-certificate', content: item.certificate, ...common }];
  if (item.token !== undefined) return [{ type: 'token', content: item.token, ...common }];
  const { ssh_key, password = ssh_key === undefined ? '' : undefined } = item;
  return [
    ...(ssh_key === undefined ? [] : [{ type: 'ssh-key' as const, content: ssh_key, ...common }]),
    ...(password === undefined ? [] : [{ type: 'password' as const, content: password, ...common }]),
  ];
}

function findProblems(item: SuiteCase, { outcome, last: report, login }: ProbedLogin): string[] {
  if (outcome !== item.expect) return [`expected ${item.expect}, got ${outcome} (${login?.credentials.at(-1)?.reason ?? report.reason})`];
  return Object.entries(item.account ?? {})
    .filter(([name, expected]) => !isDeepStrictEqual(report.account?.[name], expected))
    .map(([name, expected]) => `account.${name}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(report.account?.[name])}`);
}
