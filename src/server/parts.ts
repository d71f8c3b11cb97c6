import { type Account, effectiveAccount, type GroupConfiguration } from '../accounts/account.ts';
import { withDefaultGroup } from '../accounts/options.ts';
import { ApplicationMethod } from '../auth/application.ts';
import type { AuthMethod } from '../auth/auth-method.ts';
import { createAuthMethod, type MethodDependencies } from '../auth/create-method.ts';
import { LocalPasswords } from '../auth/local-passwords.ts';
import { methodsInForce } from '../auth/options.ts';
import { type Config, isFileService } from '../config/schema/schema.ts';
import type { KnownTrash } from '../files/trash/known-trashes.ts';
import type { HttpServiceOptions } from '../http/options.ts';
import type { Failure } from '../lib/remote/remote-endpoint.ts';
import type { SshServiceOptions } from '../ssh/options.ts';

/** The parts that requests need. They are created from a configuration. */
export interface RequestParts {
  config: Config;
  methods: Map<string, AuthMethod>;
  groups: Map<string, GroupConfiguration>;
  passwords: LocalPasswords;
}

/**
 * Creates the parts of a configuration without starting them.
 *
 * @throws ServiceError `unavailable` if an accounts file or a CA file cannot be used
 */
export function makeParts(config: Config, dependencies: Omit<MethodDependencies, 'accounts' | 'groupUuids'>): RequestParts {
  const groups = withDefaultGroup(config.groups);
  const methodDependencies = { ...dependencies, accounts: config.accounts, groupUuids: new Set(groups.keys()) };
  const methods = new Map(
    methodsInForce(config.authentications).map(([uuid, options]) => [uuid, createAuthMethod(uuid, options, methodDependencies)]),
  );
  return {
    config,
    groups,
    methods,
    passwords: new LocalPasswords([...methods.values()], dependencies.passwords, config.server.password_policy),
  };
}

/**
 * Returns the longest `retain` of groups and accounts in days; 0 if there is none. Accounts of an accounts file do not count here: their
 * `retain` becomes known when they create a file.
 */
export function longestRetention({ config, groups }: RequestParts): number {
  return [...groups.values(), ...Object.values(config.accounts)].reduce((days, { retain }) => Math.max(days, retain?.days ?? 0), 0);
}

/** Returns the number of days for which an account's trash keeps files; 0 without a trash. */
export function trashDays({ config, groups }: RequestParts, { account, group }: Pick<KnownTrash, 'account' | 'group'>): number {
  return (config.accounts[account]?.trash ?? groups.get(group)?.trash)?.days ?? 0;
}

/** Starts the enabled authentication methods. */
export async function startMethods({ methods, config }: RequestParts): Promise<void> {
  const enabled = [...methods.values()].filter((method) => config.authentications[method.uuid]?.enabled ?? true);
  await Promise.all(enabled.map((method) => method.start()));
}

export async function stopMethods({ methods }: RequestParts): Promise<void> {
  for (const method of methods.values()) await method.stop();
}

/** Returns the faults of authentication methods by UUID. */
export function methodFaults({ methods }: RequestParts): Record<string, Failure> {
  return Object.fromEntries([...methods.values()].flatMap(({ uuid, fault }) => (fault === undefined ? [] : [[uuid, fault]])));
}

/** Options of a service that serves files. */
export type FileServiceOptions = HttpServiceOptions | SshServiceOptions;

export function serviceProtocol({ type }: FileServiceOptions): 'http' | 'ssh' {
  return type === 'ssh' ? 'ssh' : 'http';
}

/** Returns the authentication methods of a service, in the order in which it asks them. */
export function serviceMethods({ methods, config }: RequestParts, { authentications }: FileServiceOptions): AuthMethod[] {
  const order = authentications ?? [...methods.keys()].filter((method) => config.authentications[method]?.enabled ?? true);
  return order.flatMap((method) => methods.get(method) ?? []);
}

/** Returns the UUIDs of the enabled file transfer services. */
export function fileServices(config: Config): string[] {
  return Object.entries(config.services).flatMap(([uuid, service]) => (service.enabled && isFileService(service) ? [uuid] : []));
}

/** Returns the account with this name; undefined for accounts that only a remote endpoint knows. */
export function configuredAccount({ methods, groups }: RequestParts, name: string): Account | undefined {
  for (const method of methods.values()) {
    const local = method instanceof ApplicationMethod ? method.accounts.find(name)?.configuration : undefined;
    const open = method.authenticateWithoutCredentials?.();
    const configuration = local ?? (open?.username === name ? open.account : undefined);
    try {
      if (configuration) return effectiveAccount(name, configuration, groups, method);
    } catch {
      // The account cannot be used any more. In this case, its folders are read from events.
    }
  }
  return undefined;
}
