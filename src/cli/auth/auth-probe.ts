import { join } from 'node:path';
import {
  type Account,
  type AccountConfiguration,
  AccountError,
  effectiveAccount,
  type GroupConfiguration,
} from '../../accounts/account.ts';
import { AccountsFile } from '../../accounts/accounts-file.ts';
import { withDefaultGroup } from '../../accounts/options.ts';
import { PasswordVerifier } from '../../accounts/passwords.ts';
import { ApplicationMethod } from '../../auth/application.ts';
import type { AuthResult } from '../../auth/auth-method.ts';
import { createCalloutEndpoint } from '../../auth/callout.ts';
import { verdictOf } from '../../auth/callout-reply.ts';
import { type Credentials, credentialsContentType, credentialsRequestBody } from '../../auth/credentials.ts';
import { type AuthenticationOptions, type CalloutOptions, calloutOptions, methodsInForce } from '../../auth/options.ts';
import type { Config } from '../../config/schema/schema.ts';
import { isFileService } from '../../config/schema/services.ts';
import { systemClock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { silentLog } from '../../lib/log.ts';
import type { RemoteResult } from '../../lib/remote/remote-endpoint.ts';
import { shownUrl } from '../../lib/remote/shown-url.ts';
import type { MethodReport } from './method-report.ts';
import { replyWarnings } from './reply-warnings.ts';

/** What is asked, and how the answer is read. */
export interface Target {
  chain: [string, AuthenticationOptions][];
  groups: ReadonlyMap<string, GroupConfiguration>;
  /** Any group is fine: without a configuration none are known. */
  anyGroup: boolean;
  config: Config | undefined;
}

/** The target of `--url`: one endpoint, no configuration. */
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
  if (!parsed.success)
    throw new ServiceError(
      'bad-request',
      `--${parsed.error.issues[0]?.path[0] === 'headers' ? 'header' : String(parsed.error.issues[0]?.path[0])}: ${parsed.error.issues[0]?.message}`,
    );
  return {
    chain: [['url', parsed.data]],
    groups: withDefaultGroup({}),
    anyGroup: true,
    config: undefined,
  };
}

/** The target of a configuration: one method, or the chain of its first service that has one. */
export function configTarget(config: Config, method: string | undefined): Target {
  const all = methodsInForce(config.authentications);
  const service = Object.values(config.services).find((candidate) => candidate.enabled && isFileService(candidate));
  const order = service && isFileService(service) ? service.authentications : null;
  const chain = method === undefined ? chainOf(all, order) : all.filter(([uuid]) => uuid === method);
  if (chain.length === 0)
    throw new ServiceError(
      'bad-request',
      method === undefined ? 'The configuration has no enabled authentication method.' : `There is no authentication method "${method}".`,
    );
  const groups = withDefaultGroup(config.groups);
  return { chain, groups, anyGroup: false, config };
}

function chainOf(all: [string, AuthenticationOptions][], order: string[] | null): [string, AuthenticationOptions][] {
  const ordered = order === null ? all : order.flatMap((uuid) => all.filter(([candidate]) => candidate === uuid));
  return ordered.filter(([, options]) => options.enabled);
}

/** Asks the methods in order until one accepts or rejects. One report for each method that was asked. */
export async function probe(target: Target, credentials: Credentials): Promise<MethodReport[]> {
  const reports: MethodReport[] = [];
  for (const [uuid, options] of target.chain) {
    const report = await probeMethod(target, uuid, options, credentials);
    reports.push(report);
    if (report.outcome !== 'next') break;
  }
  return reports;
}

async function probeMethod(target: Target, uuid: string, options: AuthenticationOptions, credentials: Credentials): Promise<MethodReport> {
  if (options.type === 'http') return probeEndpoint(target, uuid, options, credentials);
  const startedMs = systemClock.monotonicMs();
  const result: AuthResult =
    options.type === 'anonymous'
      ? { outcome: 'next', reason: 'This method takes requests without credentials only.' }
      : await localMethod(target, uuid, options.accounts_file_path).authenticate(credentials);
  const base = { method: uuid, type: options.type, warnings: [], duration_ms: Math.round(systemClock.monotonicMs() - startedMs) };
  return { ...base, ...reading(target, uuid, options.type, credentials.username, result, false) };
}

function localMethod(target: Target, uuid: string, accountsFilePath: string): ApplicationMethod {
  const path = accountsFilePath || join(target.config?.server.data_folder_path ?? '.', 'accounts.yaml');
  const accounts = new AccountsFile(path, target.config?.accounts ?? {}, systemClock, silentLog);
  return new ApplicationMethod({ uuid, name: uuid, accounts, passwords: new PasswordVerifier() });
}

async function probeEndpoint(target: Target, uuid: string, options: CalloutOptions, credentials: Credentials): Promise<MethodReport> {
  const endpoint = createCalloutEndpoint(options, systemClock);
  const body = credentialsRequestBody(credentials, target.config?.server.uuid ?? 'svc-auth-test');
  let result: RemoteResult | undefined;
  let asked = '';
  for (const url of options.url) {
    asked = url;
    result = await endpoint.request({ url, method: 'POST', headers: { 'content-type': credentialsContentType }, body });
    if (result.kind !== 'no-reply') break;
  }
  endpoint.close();
  const reply = result as RemoteResult;
  const common = {
    method: uuid,
    type: 'http',
    url: shownUrl(asked),
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
  const groups = target.anyGroup ? anything : new Set(target.groups.keys());
  const verdict = verdictOf(reply, groups);
  // A 200 that is not taken was meant as a yes: what is wrong with it is its body.
  const invalid = verdict.outcome === 'rejected' && reply.status === 200;
  return {
    ...common,
    status: reply.status,
    status_reason: reply.reason,
    ...reading(target, uuid, 'http', credentials.username, verdict, invalid),
  };
}

const anything = { has: () => true } as unknown as ReadonlySet<string>;

function reading(target: Target, uuid: string, type: string, username: string, result: AuthResult, invalid: boolean) {
  if (result.outcome === 'next') return { outcome: result.outcome, invalid, reason: result.reason };
  if (result.outcome === 'rejected') {
    return {
      outcome: result.outcome,
      invalid,
      reason: result.reason,
      ...(result.configurationFault ? { problems: result.configurationFault.details } : {}),
      ...(result.response === undefined ? {} : { failure: result.response }),
    };
  }
  if (target.anyGroup) return { outcome: result.outcome, invalid, reason: 'The credentials are accepted.', account: { ...result.account } };
  return { invalid, ...inForce(target.groups, username, result.account, { uuid, type }) };
}

/**
 * What a method's answer comes to: the outcome, and the account in force, with the names of `--json`.
 *
 * @param groups all groups by UUID
 */
export function readingOf(
  groups: ReadonlyMap<string, GroupConfiguration>,
  username: string,
  result: AuthResult,
): Pick<MethodReport, 'outcome' | 'reason' | 'account' | 'problems' | 'failure'> {
  const target = { groups, anyGroup: false, chain: [], config: undefined };
  const { invalid: _, ...rest } = reading(target, 'callout', 'http', username, result, false);
  return rest;
}

function inForce(
  groups: ReadonlyMap<string, GroupConfiguration>,
  username: string,
  configuration: AccountConfiguration,
  method: { uuid: string; type: string },
) {
  try {
    const account = effectiveAccount(username, configuration, groups, method);
    return {
      outcome: 'authenticated' as const,
      reason: 'The credentials are accepted.',
      account: shownAccount(account),
    };
  } catch (error) {
    if (!(error instanceof AccountError)) throw error;
    return { outcome: 'rejected' as const, reason: error.message };
  }
}

function shownAccount(account: Account): Record<string, unknown> {
  const { general, rules } = account.permissions.options;
  return {
    name: account.name,
    uuid: account.uuid,
    email: account.email,
    group: account.groupUuid,
    home_folder_path: account.homeFolderPath,
    create_home_folder: account.createHomeFolder,
    home_folder_structure: account.homeFolderStructure,
    virtual_folders: account.virtualFolders.map((folder) => [folder.path, folder.realPath]),
    permissions: [general, ...rules.map((rule) => [rule.expression, ...rule.permissions])],
  };
}
