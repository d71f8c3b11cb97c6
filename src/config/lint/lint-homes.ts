import { dirname, resolve, sep } from 'node:path';
import { defaultGroupUuid, type HomeFolderConfiguration, homeFolderOptions } from '../../accounts/account.ts';
import { expandUserInPath, userForPath, userVariable } from '../../accounts/user-names.ts';
import { isServiceError } from '../../lib/errors.ts';
import { isWithin } from '../../lib/virtual-path.ts';
import type { Report } from '../findings.ts';
import type { Config } from '../schema/schema.ts';

/** Finds home folders that let one account see the files of another, and folders that the service refuses to serve. */
export function lintHomes(config: Config, report: Report): void {
  lintAccountHomes(config, report);
  lintGroupHomes(config, report);
  lintDataFolder(config, report);
}

/** Finds home and virtual folders inside the data folder, which is never served. */
function lintDataFolder(config: Config, report: Report): void {
  const data = resolve(config.server.data_folder_path);
  const check = (path: string, at: PropertyKey[]) => {
    const isFault = isWithin(resolve(path), data);
    if (isFault) report.error('home-in-data-folder', at, `${resolve(path)} is in the data folder ${data}, which is never served`);
    return isFault;
  };
  const faultyHomes = new Set<string>();
  for (const [uuid, { home_folder_path: home, virtual_folders: folders }] of Object.entries(config.groups)) {
    if (home && check(home, ['groups', uuid, 'home_folder_path'])) faultyHomes.add(home);
    for (const [index, [, path]] of folders.entries()) check(path, ['groups', uuid, 'virtual_folders', index]);
  }
  for (const [name, account] of Object.entries(config.accounts)) {
    const expanded = (path: string) => path.replaceAll(userVariable, () => userForPath(name));
    const home = homeOptionsInForce(config, account, account.group).home_folder_path;
    if (home && !faultyHomes.has(home))
      check(expanded(home), ['accounts', name, ...(account.home_folder_path ? ['home_folder_path'] : [])]);
    for (const [index, [, path]] of (account.virtual_folders ?? []).entries())
      check(expanded(path), ['accounts', name, 'virtual_folders', index]);
  }
}

/** Returns the home folder options of an account or group. They may be inherited from the account's group and from `DEFAULT_GROUP`. */
export function homeOptionsInForce({ groups }: Config, holder: HomeFolderConfiguration, groupUuid: string) {
  const group = (uuid: string) => (Object.hasOwn(groups, uuid) ? groups[uuid] : undefined);
  return homeFolderOptions(holder, group(groupUuid), group(defaultGroupUuid));
}

interface Home {
  name: string;
  /** UUID of the group that configures the folder, unless the account itself does (`isOwn`). */
  holder: string;
  path: string;
  hasVariable: boolean;
  isOwn: boolean;
}

function lintAccountHomes(config: Config, report: Report): void {
  const homes: Home[] = [];
  for (const [name, account] of Object.entries(config.accounts)) {
    const template = homeOptionsInForce(config, account, account.group).home_folder_path;
    if (!template || !account.enabled) continue;
    const isOwn = Boolean(account.home_folder_path);
    const at = isOwn ? ['accounts', name, 'home_folder_path'] : ['accounts', name];
    try {
      const path = resolve(expandUserInPath(template, name));
      const holder = config.groups[account.group]?.home_folder_path ? account.group : defaultGroupUuid;
      const home = { name, holder, path, hasVariable: template.includes(userVariable), isOwn };
      const other = homes.find((candidate) => collide(candidate, home));
      if (other) report.warning('home-collision', at, collisionText(home, other));
      homes.push(home);
    } catch (error) {
      if (!isServiceError(error)) throw error;
      report.warning('account-unusable', at, error.message);
    }
  }
}

// Accounts may have the same folder if their group sets it without a variable, because such a folder is meant to be shared.
function collide(a: Home, b: Home): boolean {
  if (a.path === b.path) return a.hasVariable || b.hasVariable || a.isOwn || b.isOwn || a.holder !== b.holder;
  return isWithin(a.path, b.path) || isWithin(b.path, a.path);
}

function collisionText(home: Home, other: Home): string {
  if (home.path === other.path) return `the home folder ${home.path} is also that of "${other.name}"`;
  return isWithin(home.path, other.path)
    ? `the home folder ${home.path} is inside that of "${other.name}", ${other.path}`
    : `the home folder ${home.path} contains that of "${other.name}", ${other.path}`;
}

/**
 * Finds groups whose folders are inside a possible home folder of another group. With `./files/${USER}` and `./files/staff/${USER}`, an
 * account with the name `staff` in the first group would see all files of the second group.
 */
function lintGroupHomes(config: Config, report: Report): void {
  const groups = Object.entries(config.groups).flatMap(([uuid, { enabled, home_folder_path: home }]) =>
    enabled && home ? [{ uuid, home }] : [],
  );
  for (const { uuid, home } of groups) {
    if (!home.endsWith(`${sep}${userVariable}`)) continue;
    const parent = dirname(home);
    for (const other of groups) {
      const fixed = other.home.includes(userVariable) ? dirname(`${other.home.slice(0, other.home.indexOf(userVariable))}x`) : other.home;
      if (other.uuid === uuid || fixed === parent || !isWithin(fixed, parent)) continue;
      const name = fixed.slice(parent.length + 1).split(sep, 1)[0] ?? '';
      const [group, inner] = [uuid, other.uuid].map((id) => (id === defaultGroupUuid ? 'the default group' : `group "${id}"`));
      const problem = `an account named "${name}" of ${group} would have ${resolve(parent, name)} as its home folder, which contains the home folders of ${inner}`;
      report.warning('home-collision', ['groups', other.uuid, 'home_folder_path'], problem);
    }
  }
}
