import { X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import * as z from 'zod';
import { type Credentials, credentialsContentType, credentialsRequestBody } from '../../auth/credentials.ts';
import { loadConfig } from '../../config/check.ts';
import type { EventPeer } from '../../events/event.ts';
import { ServiceError } from '../../lib/errors.ts';
import { addressFamily, parseAddressPort } from '../../lib/headers/forwarded-header.ts';
import { shownUrl } from '../../lib/remote/shown-url.ts';
import { keyLineFault } from '../../ssh/public-key-fault.ts';
import { exitCode } from '../exit-codes.ts';
import { count, paint, print, visible } from '../output.ts';
import { readLine } from '../prompt.ts';
import { configTarget, probe, type Target, urlTarget } from './auth-probe.ts';
import { type CaseResult, readSuite, runSuite } from './auth-suite.ts';
import { junitXml } from './junit.ts';
import { type MethodReport, methodReport, outcome } from './method-report.ts';

/** Options of `svc auth-test`. */
export interface AuthTestOptions {
  config?: string;
  method?: string;
  url?: string;
  header: string[];
  basic?: string;
  timeout?: number;
  username?: string;
  password?: string;
  passwordStdin?: boolean;
  sshKey?: string;
  certificate?: string;
  peer?: string;
  creatorType?: string;
  expect?: MethodReport['outcome'];
  showRequest?: boolean;
  suite?: string;
  junit?: string;
  json?: boolean;
}

const maskedRequest = z
  .strictObject({
    method: z.string(),
    endpoints: z
      .array(
        z.strictObject({ url: z.string(), headers: z.record(z.string(), z.string()).describe('Those of the configuration are masked.') }),
      )
      .describe('In the order in which they are asked.'),
    body: z.record(z.string(), z.unknown()).describe('With *** in place of the secret.'),
  })
  .describe('With --show-request: the request, secrets masked.');

type MaskedRequest = z.infer<typeof maskedRequest>;

/** What came of one credentials request. */
export const authTestReport = z.strictObject({
  outcome,
  expected: outcome.optional(),
  met: z.boolean().optional(),
  request: maskedRequest.optional(),
  methods: z.array(methodReport),
});

/** Sends one credentials request, or those of a suite, and says what the service would make of the reply. */
export async function authTest(options: AuthTestOptions): Promise<number> {
  const target = await targetOf(options);
  if (options.suite) return suite(target, options);
  const credentials = await credentialsOf(options);
  if (options.showRequest && !options.json) print(requestText(requestOf(target, credentials)));
  const reports = await probe(target, credentials);
  const last = reports.at(-1) as MethodReport;
  const met = options.expect === undefined ? undefined : options.expect === last.outcome;
  if (options.json) {
    const request = options.showRequest ? requestOf(target, credentials) : undefined;
    const report: z.infer<typeof authTestReport> = {
      outcome: last.outcome,
      expected: options.expect,
      met,
      request,
      methods: reports,
    };
    print(JSON.stringify(report, null, 2));
  } else {
    for (const report of reports) print(reportText(report));
    if (met !== undefined)
      print(
        met
          ? paint(process.stdout, 'green', `as expected: ${last.outcome}`)
          : paint(process.stdout, 'red', `expected ${options.expect}, got ${last.outcome}`),
      );
  }
  if (met !== undefined) return met ? exitCode.done : exitCode.no;
  return codeOf(last);
}

function codeOf(report: MethodReport): number {
  if (report.outcome === 'authenticated') return exitCode.done;
  if (report.outcome === 'next') return exitCode.next;
  return report.invalid ? exitCode.noReply : exitCode.rejected;
}

async function targetOf(options: AuthTestOptions): Promise<Target> {
  if (options.url !== undefined) {
    if (options.method !== undefined) throw new ServiceError('bad-request', '--url and --method exclude each other.');
    return urlTarget({ url: options.url, headers: options.header, basic: options.basic, timeout: options.timeout });
  }
  for (const name of ['basic', 'timeout'] as const) {
    if (options[name] !== undefined) throw new ServiceError('bad-request', `--${name} goes with --url; with a configuration set it there.`);
  }
  if (options.header.length > 0) throw new ServiceError('bad-request', '--header goes with --url; with a configuration set it there.');
  const loaded = await loadConfig({ file: options.config, cwd: process.cwd(), env: process.env });
  return configTarget(loaded.config, options.method, creatorTypeOf(options) === 'ssh');
}

async function suite(target: Target, options: AuthTestOptions): Promise<number> {
  const cases = readSuite(options.suite as string);
  const results: CaseResult[] = [];
  for await (const result of runSuite(target, cases, peerOf(options.peer), options.creatorType ?? 'https')) {
    results.push(result);
    if (options.json) print(JSON.stringify(result));
    else
      print(
        `${result.passed ? paint(process.stdout, 'green', 'ok  ') : paint(process.stdout, 'red', 'FAIL')} ${result.name}${result.passed ? '' : `: ${result.message}`}`,
      );
  }
  const failed = results.filter((result) => !result.passed).length;
  if (options.junit) writeFileSync(options.junit, junitXml('svc auth-test', results));
  if (!options.json) print(`${count(results.length - failed, 'case')} passed, ${failed} failed`);
  return failed === 0 ? exitCode.done : exitCode.no;
}

/** Of the service that the credentials would reach. */
function creatorTypeOf({ creatorType, sshKey }: AuthTestOptions): string {
  return creatorType ?? (sshKey ? 'ssh' : 'https');
}

async function credentialsOf(options: AuthTestOptions): Promise<Credentials> {
  const given = [options.password, options.passwordStdin || undefined, options.sshKey, options.certificate].filter(
    (value) => value !== undefined,
  );
  if (given.length !== 1)
    throw new ServiceError('bad-request', 'Give exactly one of --password, --password-stdin, --ssh-key and --certificate.');
  const common = {
    peer: peerOf(options.peer),
    creator: { uuid: 'svc-auth-test', type: creatorTypeOf(options) },
  };
  if (options.certificate !== undefined) {
    const pem = readNamed('--certificate', options.certificate);
    return { type: 'ssl-certificate', username: options.username ?? commonName(pem), content: pem, ...common };
  }
  if (options.username === undefined) throw new ServiceError('bad-request', '--username is missing.');
  if (options.sshKey !== undefined) {
    const line = readNamed('--ssh-key', options.sshKey);
    const fault = common.creator.type === 'ssh' ? keyLineFault(line) : undefined;
    if (fault !== undefined) process.stderr.write(`svc: warning: --ssh-key ${fault}\n`);
    return { type: 'ssh-key', username: options.username, content: keyBlob(line), ...common };
  }
  const content = options.passwordStdin ? await readLine(process.stdin) : (options.password as string);
  return { type: 'password', username: options.username, content, ...common };
}

function readNamed(option: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new ServiceError('bad-request', `${option}: ${(error as Error).message}`, { cause: error });
  }
}

/** The base64 blob of an OpenSSH public key line. @throws ServiceError `bad-request` when it is none */
export function keyBlob(line: string): string {
  const [type, blob] = line.trim().split(/\s+/);
  if (!type || !blob || !/^[\w@.-]+$/.test(type) || !/^AAAA[A-Za-z0-9+/]+=*$/.test(blob))
    throw new ServiceError('bad-request', '--ssh-key: the file is no OpenSSH public key.');
  return blob;
}

function commonName(pem: string): string {
  try {
    const name = new X509Certificate(pem).toLegacyObject().subject.CN;
    if (typeof name === 'string') return name;
  } catch (error) {
    throw new ServiceError('bad-request', `--certificate: ${(error as Error).message}`, { cause: error });
  }
  throw new ServiceError('bad-request', '--certificate: the certificate has no common name; give --username.');
}

function peerOf(text: string | undefined): EventPeer {
  const client = parseAddressPort(text ?? '127.0.0.1:0');
  if (!client) throw new ServiceError('bad-request', '--peer takes ADDRESS or ADDRESS:PORT, IPv6 addresses in brackets.');
  return { ...client, protocol: 'TCP', family: addressFamily(client.address) };
}

/** The request as it is sent, to one endpoint after the other, with every secret masked. Names are those of `--json`. */
function requestOf(target: Target, credentials: Credentials): MaskedRequest {
  const endpoints = target.chain.flatMap(([, options]) => {
    if (options.type !== 'http') return [];
    const headers = {
      'Content-Type': credentialsContentType,
      ...Object.fromEntries(options.headers.map(([name]) => [name, '***'])),
      ...(options.username ? { Authorization: '***' } : {}),
    };
    return options.url.map((url) => ({ url: shownUrl(url), headers }));
  });
  const body: Record<string, unknown> = JSON.parse(
    credentialsRequestBody({ ...credentials, content: '***' }, target.config?.server.uuid ?? 'svc-auth-test'),
  );
  return { method: 'POST', endpoints, body };
}

function requestText({ method, endpoints, body }: MaskedRequest): string {
  const heads = endpoints.map(({ url, headers }) =>
    [`${method} ${url}`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)].join('\n'),
  );
  return `${heads.join('\n')}\n\n${JSON.stringify(body, null, 2)}\n`;
}

function reportText(report: MethodReport): string {
  const colour = report.outcome === 'authenticated' ? 'green' : report.outcome === 'next' ? 'yellow' : 'red';
  const status = report.status === undefined ? '' : ` ${report.status} ${report.status_reason ?? ''}`.trimEnd();
  const lines = [
    `${report.method} (${report.type}): ${paint(process.stdout, colour, report.outcome)}${visible(status)}, ${report.duration_ms} ms`,
    visible(`  ${report.reason}`),
  ];
  const details = { url: report.url, problems: report.problems, failure: report.failure, ...report.account };
  for (const [name, value] of Object.entries(details)) {
    if (value !== undefined && value !== '') lines.push(visible(`  ${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`));
  }
  lines.push(...report.warnings.map((warning) => `  ${paint(process.stdout, 'yellow', 'warning')}: ${warning}`));
  return lines.join('\n');
}
