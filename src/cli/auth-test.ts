import { keptToken, methodRefusal } from '../config/cases/kept-token.ts';
import { loadConfig } from '../config/check.ts';
import { configTarget, type Target, urlTarget } from '../config/probe/method-probe.ts';
import { maskRequest, type ProbedLogin, probeLogin } from '../config/probe/probe-report.ts';
import type { AuthTestReport, LoginReport, MaskedRequest, MethodReport } from '../config/report-shapes.ts';
import { ServiceError } from '../lib/errors.ts';
import { type CaseResult, type CredentialOptions, componentType, parsePeer, readCredentials, readSuite, runSuite } from './auth-suite.ts';
import { reportCases, verdict } from './case-report.ts';
import { exitCode } from './exit-codes.ts';
import { paint, print, visible } from './output.ts';
import { readSecretOption } from './prompt.ts';

/** Options of `svc auth-test`. */
export interface AuthTestOptions extends CredentialOptions {
  config?: string;
  method?: string;
  url?: string;
  header: string[];
  basic?: string;
  timeout?: number;
  expect?: ProbedLogin['outcome'];
  showRequest?: boolean;
  suite?: string;
  junit?: string;
  json?: boolean;
}

/** Tries the credentials of one client or of a suite, and prints what the service would decide. */
export async function authTest(options: AuthTestOptions): Promise<number> {
  const makeTarget = await readTargets(options);
  if (options.suite) return suite(makeTarget, options);
  const whole = makeTarget(componentType(options));
  const token = options.token === undefined ? undefined : await exchangeToken(whole, await readSecretOption(options.token));
  const presented = await readCredentials({ ...options, ...token?.named });
  const target = token?.target ?? whole;
  if (presented.length > 1 && target.sshService === undefined)
    throw new ServiceError('bad-request', 'Only an ssh service of a configuration accepts a password and a key together.');
  const requests = options.showRequest ? presented.map((credentials) => maskRequest(target, credentials)) : [];
  if (!options.json) for (const request of requests) print(requestText(request));
  const { outcome, methods, login, last } = token?.refused ?? (await probeLogin(target, presented));
  const met = options.expect === undefined ? undefined : options.expect === outcome;
  if (options.json) {
    const report: AuthTestReport = { outcome, expected: options.expect, met, request: requests[0], methods, login };
    print(JSON.stringify(report, null, 2));
  } else {
    for (const report of methods) print(reportText(report, presented.length > 1));
    if (login) print(loginText(login));
    if (met) print(paint(process.stdout, 'green', `as expected: ${outcome}`));
    else if (met === false) print(paint(process.stdout, 'red', `expected ${options.expect}, got ${outcome}`));
  }
  if (met !== undefined) return met ? exitCode.done : exitCode.no;
  const codes = { authenticated: exitCode.done, partial: exitCode.partial, next: exitCode.next, rejected: exitCode.rejected } as const;
  return outcome === 'rejected' && last.invalid ? exitCode.noReply : codes[outcome];
}

/**
 * Finds a token in the data folder that the configuration names, and selects the method that decides about this token. If only an endpoint
 * is given (`--url`), any ID is accepted.
 *
 * @throws ServiceError `bad-request` if there is no such token
 */
async function exchangeToken(target: Target, given: string): Promise<{ named: CredentialOptions; target: Target; refused?: ProbedLogin }> {
  if (!target.config) return { named: { token: given }, target };
  const kept = keptToken(target.config.server.data_folder_path, given);
  const { id, account, method } = kept.grant;
  const chain = target.chain.filter(([uuid, { type }]) => uuid === method.uuid && type === method.type);
  const reason = kept.over ?? methodRefusal(kept.grant, target.chain);
  const named = { token: id, username: account.name };
  if (reason === undefined) return { named, target: { ...target, chain } };
  const report: MethodReport = {
    method: method.uuid,
    type: method.type,
    credentials: 'token',
    outcome: 'rejected',
    invalid: false,
    reason,
    warnings: [],
    duration_ms: 0,
  };
  return { named, target: { ...target, chain }, refused: { outcome: 'rejected', methods: [report], last: report, login: undefined } };
}

/** Reads from the options which methods or endpoint to ask. @returns a function that selects them for a type of service, such as `ssh` */
async function readTargets(options: AuthTestOptions): Promise<(creatorType: string) => Target> {
  if (options.url !== undefined) {
    if (options.method !== undefined) throw new ServiceError('bad-request', '--url and --method cannot be used together.');
    const target = urlTarget({ url: options.url, headers: options.header, basic: options.basic, timeout: options.timeout });
    return () => target;
  }
  for (const name of ['basic', 'timeout'] as const) {
    if (options[name] !== undefined)
      throw new ServiceError('bad-request', `--${name} can be used only with --url; a configuration has its own value.`);
  }
  if (options.header.length > 0)
    throw new ServiceError('bad-request', '--header can be used only with --url; a configuration has its own headers.');
  const { config } = await loadConfig({ file: options.config, cwd: process.cwd(), env: process.env });
  return (creatorType) => configTarget(config, options.method, creatorType === 'ssh');
}

async function suite(makeTarget: (creatorType: string) => Target, options: AuthTestOptions): Promise<number> {
  const cases = readSuite(options.suite as string);
  const results: CaseResult[] = [];
  for await (const result of runSuite(makeTarget, cases, parsePeer(options.peer), options.creatorType)) {
    results.push(result);
    const fault = result.passed ? '' : `: ${result.message}`;
    print(options.json ? JSON.stringify(result) : `${verdict(result.passed)} ${result.name}${fault}`);
  }
  return reportCases('svc auth-test', results, options) ? exitCode.done : exitCode.no;
}

function requestText({ method, endpoints, body }: MaskedRequest): string {
  const heads = endpoints.map(({ url, headers }) =>
    [`${method} ${url}`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)].join('\n'),
  );
  return `${heads.join('\n')}\n\n${JSON.stringify(body, null, 2)}\n`;
}

/** Formats the answers of an SSH service, one line for each credential. */
function loginText({ service, credentials }: LoginReport): string {
  return credentials
    .map(({ outcome, reason, offered }) => {
      const colour = outcome === 'granted' ? 'green' : outcome === 'partial' ? 'yellow' : 'red';
      const next = outcome === 'granted' ? '' : `; offered next: ${offered.join(', ')}`;
      return visible(`${service} (ssh): ${paint(process.stdout, colour, outcome)}, ${reason}${next}`);
    })
    .join('\n');
}

/** @param isOneOfMany whether there are several reports, so that the text must name the credentials */
function reportText(report: MethodReport, isOneOfMany: boolean): string {
  const colour = report.outcome === 'authenticated' ? 'green' : report.outcome === 'next' ? 'yellow' : 'red';
  const status = report.status === undefined ? '' : ` ${report.status} ${report.status_reason ?? ''}`.trimEnd();
  const lines = [
    `${report.method} (${report.type}${isOneOfMany ? `, ${report.credentials}` : ''}): ${paint(process.stdout, colour, report.outcome)}${visible(status)}, ${report.duration_ms} ms`,
    visible(`  ${report.reason}`),
  ];
  const details = { url: report.url, problems: report.problems, failure: report.failure, ...report.account };
  for (const [name, value] of Object.entries(details)) {
    if (value !== undefined && value !== '') lines.push(visible(`  ${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`));
  }
  lines.push(...report.warnings.map((warning) => `  ${paint(process.stdout, 'yellow', 'warning')}: ${warning}`));
  return lines.join('\n');
}
