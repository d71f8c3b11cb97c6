import { lchownSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { LoadedConfig } from '../../config/reading/load.ts';
import type { Config } from '../../config/schema/schema.ts';
import { systemId } from '../../lib/disk/system-id.ts';
import { ServiceError, systemErrorCode } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';

/** Adds members that the type definitions of Node.js lack. */
type ProcessWithGroups = NodeJS.Process & { initgroups(user: string, group: number): void; permission?: unknown };

/** If this environment variable is 1, a service that other machines can reach may run as root. */
const allowRootVariable = 'SVC_ALLOW_ROOT';

/**
 * Sets the umask, and refuses to run as root unless that is allowed. Call it before any file is created.
 *
 * @throws ServiceError `unavailable`, whose message says what to do
 */
export function prepareProcess({ config, file }: LoadedConfig, env: Readonly<Record<string, string | undefined>>, log: Log): void {
  const { user, group, umask } = config.server;
  // Under the permission model, Node.js 20 disables fsync and other functions on file descriptors, so durability could not be guaranteed.
  if ((process as ProcessWithGroups).permission !== undefined)
    throw new ServiceError('unavailable', 'svc serve does not run under the permission model of Node.js, which switches fsync off.');
  if (umask !== '') process.umask(Number.parseInt(umask, 8));
  const uid = process.getuid?.();
  if (uid !== 0) {
    if ((user !== '' && systemId('/etc/passwd', user) !== uid) || (group !== '' && systemId('/etc/group', group) !== process.getgid?.()))
      throw new ServiceError(
        'unavailable',
        'server.user and server.group work only if svc is started as root: only root can become another account.',
      );
    return;
  }
  if (user !== '' || env[allowRootVariable] === '1') return;
  if (Object.values(config.services).some((service) => service.enabled && !isLoopback(service.address)))
    throw new ServiceError(
      'unavailable',
      `A service that other machines can reach refuses to run as root. Set server.user to the account to which svc should change, or to root to stay root, or set ${allowRootVariable}=1.`,
    );
  if (file !== '') log.warn('running as root; set server.user to the account to which svc should change');
}

function isLoopback(address: string): boolean {
  return address === 'localhost' || address === '::1' || /^127\.\d+\.\d+\.\d+$/.test(address);
}

/** Returns the OS account to which this process changes; undefined if the process was not started as root or stays root. */
function wantedAccount({ user, group }: Config['server']): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0 || (user === '' && group === '') || user === 'root') return undefined;
  const uid = user === '' ? 0 : systemId('/etc/passwd', user);
  const gid = group === '' ? systemId('/etc/passwd', user, 3) : systemId('/etc/group', group);
  return { uid, gid };
}

/**
 * Gives the data folder to the configured OS account, and changes to that account permanently. Call this after all addresses are bound.
 *
 * @throws ServiceError `unauthorized` if there is no such account or group; `unavailable` if the change fails
 */
export function dropPrivileges(server: Config['server'], dataFolderPath: string, log: Log): void {
  giveFolder(server, dataFolderPath);
  becomeAccount(server, log);
}

/**
 * Makes the configured OS account the owner of a folder and of its content.
 *
 * @throws ServiceError `unauthorized` if there is no such account or group; `unavailable` if the owner cannot be changed
 */
export function giveFolder(server: Config['server'], path: string): void {
  withAccount(server, ({ uid, gid }) => giveTree(path, uid, gid));
}

/** Changes to the configured OS account permanently. */
function becomeAccount(server: Config['server'], log: Log): void {
  withAccount(server, ({ uid, gid }) => {
    const { user, group } = server;
    if (user === '') process.setgroups?.([gid]);
    else (process as ProcessWithGroups).initgroups(user, gid);
    process.setgid?.(gid);
    if (user !== '') process.setuid?.(uid);
    log.info('dropped privileges', { user, group, uid, gid });
  });
}

function withAccount(server: Config['server'], action: (account: { uid: number; gid: number }) => void): void {
  try {
    const account = wantedAccount(server);
    if (account) action(account);
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError('unavailable', `server.user and server.group cannot be applied: ${(error as Error).message}.`, {
      cause: error,
    });
  }
}

function giveTree(path: string, uid: number, gid: number): void {
  lchownSync(path, uid, gid);
  for (const entry of readdirSync(path, { withFileTypes: true, recursive: true })) {
    try {
      lchownSync(join(entry.parentPath, entry.name), uid, gid);
    } catch (error) {
      // Nodes are already serving, so one of them may have removed a temporary file meanwhile.
      if (systemErrorCode(error) !== 'ENOENT') throw error;
    }
  }
}
