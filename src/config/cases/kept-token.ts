import { join } from 'node:path';
import { type Account, narrowAccount } from '../../accounts/account.ts';
import { type Grant, grantChain, grantName, listNarrowings, whyOver } from '../../auth/grants/grant.ts';
import { refusalText } from '../../auth/grants/grant-logins.ts';
import { shownToken } from '../../auth/grants/shown-grant.ts';
import type { AuthenticationOptions } from '../../auth/options.ts';
import { systemClock } from '../../lib/clock.ts';
import { ServiceError, systemErrorCode } from '../../lib/errors.ts';
import { silentLog } from '../../lib/log.ts';
import { readSecret } from '../../lib/secrets.ts';
import { grantFileName, readGrants } from '../../state/memory/grant-file.ts';
import { GrantIndex } from '../../state/memory/grant-index.ts';

/** A token that is stored in a data folder. */
export interface KeptToken {
  grant: Grant;
  /** The token, then the token with which it was created, and so on. */
  chain: readonly Grant[];
  /** The reason why the token is not valid, as a sentence; undefined if it is valid. */
  over: string | undefined;
}

/**
 * Finds a token in the data folder of a service, which may be running.
 *
 * @param given secret or ID of the token
 * @throws ServiceError `bad-request` if there is no such token, or if the folder cannot be read
 */
export function keptToken(dataFolderPath: string, given: string): KeptToken {
  const index = new GrantIndex();
  const path = join(dataFolderPath, grantFileName);
  try {
    readGrants(path, index, silentLog);
  } catch (error) {
    const reason = systemErrorCode(error) ?? String(error);
    throw new ServiceError('bad-request', `${path} cannot be read (${reason}); only root and the OS account of the service may read it.`, {
      cause: error,
    });
  }
  const read = readSecret(given);
  if (read === 'mistyped') throw new ServiceError('bad-request', 'The checksum of the token is wrong: it was mistyped or cut off.');
  const grant = read ? index.find(read.hash) : index.get(given);
  if (grant?.kind !== 'token') throw new ServiceError('bad-request', `${dataFolderPath} has no such token.`);
  const get = (id: string) => index.get(id);
  const why = whyOver(grant, systemClock.nowMs(), get);
  return { grant, chain: grantChain(grant, get), over: why && refusalText(grant, why) };
}

/** Returns the reason why the authentication method of a token's account does not accept the token; undefined if there is none. */
export function methodRefusal(
  { method }: Grant,
  methods: readonly (readonly [uuid: string, options: AuthenticationOptions])[],
): string | undefined {
  const options = methods.find(([uuid]) => uuid === method.uuid)?.[1];
  if (!options?.enabled || options.type !== method.type) return `the method "${method.uuid}" of its account is not enabled`;
  return options.type === 'http' && !options.tokens ? `the method "${method.uuid}" accepts no tokens (option "tokens")` : undefined;
}

/** Returns the account with the limits of a token. */
export function narrowedBy(account: Account, { grant, chain }: KeptToken): Account {
  return narrowAccount(account, listNarrowings(chain), grantName(grant));
}

/** Describes a token in one line for people. */
export function describeToken({ grant }: KeptToken): string {
  const { id, name, path, permissions, services, addresses, expires } = shownToken(grant);
  const parts = [
    `token ${id}${name === '' ? '' : ` "${name}"`} until ${expires}`,
    `reaches ${path === null ? 'all paths' : [path].flat().join(', ')}`,
    `has ${permissions === null ? 'all permissions of its account' : permissions.join(', ')}`,
    ...(services ? [`at ${services.join(', ')}`] : []),
    ...(addresses ? [`from ${addresses.join(', ')}`] : []),
  ];
  return parts.join('; ');
}
