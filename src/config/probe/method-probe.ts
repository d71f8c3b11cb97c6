import type { GroupConfiguration } from '../../accounts/account.ts';
import { AccountsFile } from '../../accounts/accounts-file.ts';
import { withDefaultGroup } from '../../accounts/options.ts';
import { PasswordVerifier } from '../../accounts/passwords.ts';
import { ApplicationMethod } from '../../auth/application.ts';
import type { AuthResult } from '../../auth/auth-method.ts';
import { createCalloutEndpoint } from '../../auth/callout.ts';
import { judgeReply } from '../../auth/callout-reply.ts';
import { areAskable, type Credentials, credentialsContentType, credentialsRequestBody, notAskable } from '../../auth/credentials.ts';
import {
  type ApplicationOptions,
  type AuthenticationOptions,
  accountsFilePath,
  type CalloutOptions,
  calloutOptions,
  methodsInForce,
} from '../../auth/options.ts';
import { systemClock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { isObject } from '../../lib/json.ts';
import { silentLog } from '../../lib/log.ts';
import { redactedUrl } from '../../lib/remote/redacted-url.ts';
import type { RemoteResult } from '../../lib/remote/remote-endpoint.ts';
import { mask } from '../../webhooks/payload/create-payload.ts';
import { describeAnswer } from '../cases/auth-answer.ts';
import type { MethodReport } from '../report-shapes.ts';
import { type Config, isFileService } from '../schema/schema.ts';

/** Maximum length in bytes of a 401 body that causes no warning. */
const shortTextBytes = 200;

/** A reply is slow if it takes more than this fraction of the timeout. */
const slowPart = 0.5;

/** Returns warnings for the developer of an endpoint about unusual properties of its reply. @param timeoutMs timeout of the method */
function replyWarnings(result: RemoteResult, timeoutMs: number): string[] {
  const warnings: string[] = [];
  if (result.durationMs > timeoutMs * slowPart)
    warnings.push(`the reply took ${(result.durationMs / 1000).toFixed(1)} s of the ${timeoutMs / 1000} s allowed`);
  if (result.kind !== 'reply') return warnings;
  const { status, body } = result;
  const header = (name: string) => result.headers.find(([key]) => key.toLowerCase() === name)?.[1];
  const type = header('content-type') ?? '';
  const text = body.subarray(0, 512).toString('utf8').trimStart();
  if (status >= 300 && status < 400)
    warnings.push(`redirects are not followed (Location: ${header('location') ?? 'none'}); configure the final URL`);
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf)
    warnings.push('the body begins with a byte order mark, which JSON must not have');
  if (/^text\/html/i.test(type) || /^<(!doctype|html)/i.test(text))
    warnings.push('the body is an HTML page: a login page or a gateway may stand in front of the endpoint');
  else if (status === 200 && body.length > 0 && !/^application\/(.+\+)?json/i.test(type))
    warnings.push(`the content type of the 200 reply is "${type}"; application/json is expected`);
  if (status === 401 && body.length > shortTextBytes) warnings.push(`the 401 body has ${body.length} bytes; a short text is expected`);
  if (status === 404 || status === 405)
    warnings.push('the status looks like a wrong path or method; the endpoint must take POST at exactly this URL');
  return warnings;
}

/** The authentication methods to ask, and the data that is needed to interpret their answers. */
export interface Target {
  chain: [string, AuthenticationOptions][];
  /** UUID of the SSH service to which the chain belongs; undefined for other services and for `--url`. */
  sshService: string | undefined;
  /** All groups by UUID; undefined if there is no configuration. In that case, any group is accepted. */
  groups: ReadonlyMap<string, GroupConfiguration> | undefined;
  config: Config | undefined;
  /** Secrets of the request. If the endpoint's reply repeats them, the report masks them. */
  secrets?: readonly string[];
}

/** Creates the target for `--url`. It is one endpoint, and has no configuration. */
export function urlTarget(options: { url: string; headers: string[]; basic: string | undefined; timeout: number | undefined }): Target {
  const colon = options.basic?.indexOf(':') ?? -1;
  const parsed = calloutOptions.safeParse({
    type: 'http',
    url: options.url,
    headers: options.headers,
    username: options.basic?.slice(0, Math.max(colon, 0)) ?? '',
    password: options.basic?.slice(colon + 1) ?? '',
    ...(options.timeout === undefined ? {} : { timeout: options.timeout }),
  });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new ServiceError('bad-request', `--${issue?.path[0] === 'headers' ? 'header' : String(issue?.path[0])}: ${issue?.message}`);
  }
  return { chain: [['url', parsed.data]], sshService: undefined, groups: undefined, config: undefined };
}

/**
 * Creates the target from a configuration. Its chain is the named method, or else the enabled methods of the first file service.
 *
 * @param isOverSsh whether the first SSH service is preferred to other file services
 */
export function configTarget(config: Config, method: string | undefined, isOverSsh: boolean): Target {
  const all = methodsInForce(config.authentications);
  const services = Object.entries(config.services).filter(([, candidate]) => candidate.enabled && isFileService(candidate));
  const ssh = isOverSsh ? services.find(([, { type }]) => type === 'ssh') : undefined;
  const [, service] = ssh ?? services[0] ?? [];
  const order = service && isFileService(service) ? service.authentications : null;
  const chain = method === undefined ? orderedChain(all, order) : all.filter(([uuid]) => uuid === method);
  if (chain.length === 0 && method === undefined)
    throw new ServiceError('bad-request', 'The configuration has no enabled authentication method.');
  if (chain.length === 0) throw new ServiceError('bad-request', `There is no authentication method "${method}".`);
  return { chain, sshService: ssh?.[0], groups: withDefaultGroup(config.groups), config };
}

function orderedChain(all: [string, AuthenticationOptions][], order: string[] | null): [string, AuthenticationOptions][] {
  const ordered = order === null ? all : order.flatMap((uuid) => all.filter(([candidate]) => candidate === uuid));
  return ordered.filter(([, options]) => options.enabled);
}

/**
 * Asks the methods one after the other until one accepts or rejects.
 *
 * @returns one report for each method that was asked
 * @throws the reason of the signal when the signal is aborted
 */
export async function probe(target: Target, credentials: Credentials, signal?: AbortSignal): Promise<MethodReport[]> {
  const [first] = target.chain;
  if (!areAskable(credentials) && first) return [unasked(...first, credentials)];
  const reports: MethodReport[] = [];
  for (const [uuid, options] of target.chain) {
    signal?.throwIfAborted();
    const report = await probeMethod(target, uuid, options, credentials, signal);
    reports.push(report);
    if (report.outcome !== 'next') break;
  }
  return reports;
}

/** Creates the report for credentials about which no method may be asked. It names the first method of the chain. */
function unasked(method: string, { type }: AuthenticationOptions, credentials: Credentials): MethodReport {
  const reason = `${notAskable} No method is asked.`;
  return { method, type, credentials: credentials.type, outcome: 'next', invalid: false, reason, warnings: [], duration_ms: 0 };
}

async function probeMethod(
  target: Target,
  uuid: string,
  options: AuthenticationOptions,
  credentials: Credentials,
  signal: AbortSignal | undefined,
): Promise<MethodReport> {
  if (options.type === 'http') return probeEndpoint(target, uuid, options, credentials, signal);
  const startedMs = systemClock.monotonicMs();
  const result: AuthResult =
    options.type === 'anonymous'
      ? { outcome: 'next', reason: 'This method accepts only requests without credentials.' }
      : await askLocal(localMethod(target, uuid, options), credentials);
  const base = {
    method: uuid,
    type: options.type,
    credentials: credentials.type,
    warnings: [],
    duration_ms: Math.round(systemClock.monotonicMs() - startedMs),
  };
  return { ...base, invalid: false, ...describeAnswer(target.groups, credentials.username, result, { uuid, type: options.type }) };
}

/** Asks a method for local accounts. Unlike a client, the administrator who tests a login is told what exactly was wrong. */
async function askLocal(method: ApplicationMethod, credentials: Credentials): Promise<AuthResult> {
  const result = await method.authenticate(credentials);
  return result.outcome === 'next' ? { ...result, reason: method.refusalReason(credentials) } : result;
}

function localMethod({ config }: Target, uuid: string, options: ApplicationOptions): ApplicationMethod {
  const path = accountsFilePath(options, config?.server.data_folder_path ?? '.');
  const accounts = new AccountsFile(path, config?.accounts ?? {}, systemClock, silentLog);
  return new ApplicationMethod({ uuid, name: uuid, accounts, passwords: new PasswordVerifier() });
}

async function probeEndpoint(
  target: Target,
  uuid: string,
  options: CalloutOptions,
  credentials: Credentials,
  signal: AbortSignal | undefined,
): Promise<MethodReport> {
  const endpoint = createCalloutEndpoint(options, systemClock);
  const body = credentialsRequestBody(credentials, target.config?.server.uuid ?? 'svc-auth-test');
  let result: RemoteResult | undefined;
  let asked = '';
  try {
    for (const url of options.url) {
      asked = url;
      result = await endpoint.request({ url, method: 'POST', headers: { 'content-type': credentialsContentType }, body, signal });
      if (result.kind !== 'no-reply') break;
    }
  } finally {
    endpoint.close();
  }
  const reply = result as RemoteResult;
  const common = {
    method: uuid,
    type: 'http',
    credentials: credentials.type,
    url: redactedUrl(asked),
    warnings: replyWarnings(reply, options.timeout * 1000),
    duration_ms: Math.round(reply.durationMs),
  };
  if (reply.kind !== 'reply') {
    return {
      ...common,
      outcome: 'rejected',
      invalid: true,
      reason: `${reply.kind === 'no-reply' ? 'no reply' : 'invalid reply'}: ${reply.message}`,
    };
  }
  const groups = target.groups ? new Set(target.groups.keys()) : anything;
  const verdict = judgeReply(reply, groups);
  // Status 200 accepts a login. If the verdict rejects the login nevertheless, the body of the reply is invalid.
  const invalid = verdict.outcome === 'rejected' && reply.status === 200;
  const report = {
    ...common,
    status: reply.status,
    status_reason: reply.reason,
    invalid,
    ...describeAnswer(target.groups, credentials.username, verdict, { uuid, type: 'http' }),
  };
  return target.secrets ? withoutEchoes(report, reply, target.secrets) : report;
}

const anything = { has: () => true } as unknown as ReadonlySet<string>;

/** Minimum length of a secret that is searched for inside other text. A shorter secret may be part of other text by chance. */
const shortestSearched = 4;

/**
 * Masks the secrets in a report if the endpoint's reply repeats them. In a sentence that svc wrote, only the part that quotes the reply is
 * searched. Otherwise, a secret that is an ordinary word would also be masked in the words of svc.
 */
function withoutEchoes(report: MethodReport, reply: Extract<RemoteResult, { kind: 'reply' }>, secrets: readonly string[]): MethodReport {
  const said = [reply.body.toString('utf8'), reply.reason, ...reply.headers.map(([, value]) => value)];
  const echoed = secrets.filter((secret) => secret !== '' && secretForms(secret).some((form) => said.some((text) => text.includes(form))));
  if (echoed.length === 0) return report;
  const { status_reason, reason, problems, failure, account, warnings } = report;
  return {
    ...report,
    ...(status_reason !== undefined && { status_reason: cleanText(status_reason, echoed) }),
    reason: cleanQuotes(reason, echoed),
    warnings: warnings.map((warning) => cleanQuotes(warning, echoed)),
    ...(problems !== undefined && { problems: clean(problems, (text) => cleanQuotes(text, echoed)) }),
    ...(failure !== undefined && { failure: clean(failure, (text) => cleanText(text, echoed), true) }),
    ...(account && { account: clean(account, (text) => cleanText(text, echoed)) as typeof account }),
  };
}

/** Returns the forms in which a reply may contain a secret: as it is, or with the escapes of JSON. */
function secretForms(secret: string): string[] {
  return [...new Set([secret, JSON.stringify(secret).slice(1, -1)])];
}

/** Cleans all texts in a value. @param withNames whether the names of members are cleaned, too, because they come from the endpoint */
function clean(part: unknown, cleaned: (text: string) => string, withNames = false): unknown {
  if (typeof part === 'string') return cleaned(part);
  if (Array.isArray(part)) return part.map((item) => clean(item, cleaned, withNames));
  if (!isObject(part)) return part;
  const members = Object.entries(part).map(([name, member]) => [withNames ? cleaned(name) : name, clean(member, cleaned, withNames)]);
  return Object.fromEntries(members);
}

/** Masks secrets in a text. A long secret is masked anywhere in the text, and a short one only if it is the whole text. */
function cleanText(text: string, secrets: readonly string[]): string {
  let cleaned = text;
  for (const secret of secrets) {
    if (cleaned === secret) return mask;
    if (secret.length >= shortestSearched) for (const form of secretForms(secret)) cleaned = cleaned.replaceAll(form, mask);
  }
  return cleaned;
}

/** Masks secrets in the part of a sentence that quotes a reply. That part begins at the first colon or quotation mark. */
function cleanQuotes(sentence: string, secrets: readonly string[]): string {
  const at = sentence.search(/[:"]/);
  return at < 0 ? sentence : sentence.slice(0, at) + cleanText(sentence.slice(at), secrets);
}
