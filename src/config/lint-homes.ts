import { dirname, resolve, sep } from 'node:path';
import { defaultGroupUuid } from '../accounts/account.ts';
import { expandUserInPath, userVariable } from '../accounts/user-names.ts';
import { isServiceError } from '../lib/errors.ts';
import type { Report } from './findings.ts';
import type { Config } from './schema.ts';

/** Home folders that let one account see the files of another, and folders that no account can reach. */
export function lintHomes(config: Config, report: Report): void {
  lintAccountHomes(config, report);
  lintGroupHomes(config, report);
  const data = resolve(config.server.data_folder_path);
  const holders = [...Object.entries(config.groups).map((entry) => ['groups', ...entry] as const)];
  for (const [section, uuid, { home_folder_path: home }] of holders) {
    if (home && isInside(resolve(home), data))
      report('error', 'home-in-data-folder', [section, uuid, 'home_folder_path'], `lies in the data folder ${data}, which is out of reach`);
  }
}

function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

interface Home {
  name: string;
  group: string;
  path: string;
  hasVariable: boolean;
  isOwn: boolean;
}

function lintAccountHomes(config: Config, report: Report): void {
  const homes: Home[] = [];
  for (const [name, account] of Object.entries(config.accounts)) {
    const group = Object.hasOwn(config.groups, account.group) ? config.groups[account.group] : undefined;
    const template = account.home_folder_path || group?.home_folder_path;
    if (!template || !account.enabled) continue;
    const isOwn = Boolean(account.home_folder_path);
    const at = isOwn ? ['accounts', name, 'home_folder_path'] : ['accounts', name];
    try {
      const path = resolve(expandUserInPath(template, name));
      const home = { name, group: account.group, path, hasVariable: template.includes(userVariable), isOwn };
      const other = homes.find((candidate) => collide(candidate, home));
      if (other) report('warning', 'home-collision', at, collisionText(home, other));
      homes.push(home);
    } catch (error) {
      if (!isServiceError(error)) throw error;
      report('warning', 'account-unusable', at, error.message);
    }
  }
}

// Accounts of one group that share the group's folder are meant to.
function collide(a: Home, b: Home): boolean {
  if (a.path === b.path) return a.hasVariable || b.hasVariable || a.isOwn || b.isOwn || a.group !== b.group;
  return isInside(a.path, b.path) || isInside(b.path, a.path);
}

function collisionText(home: Home, other: Home): string {
  if (home.path === other.path) return `the home folder ${home.path} is also that of "${other.name}"`;
  return isInside(home.path, other.path)
    ? `the home folder ${home.path} is inside that of "${other.name}", ${other.path}`
    : `the home folder ${home.path} holds that of "${other.name}", ${other.path}`;
}

/** `./files/${USER}` beside `./files/staff/${USER}`: an account named `staff` of the first group sees all of the second. */
function lintGroupHomes(config: Config, report: Report): void {
  const groups = Object.entries(config.groups).flatMap(([uuid, { enabled, home_folder_path: home }]) =>
    enabled && home ? [{ uuid, home }] : [],
  );
  for (const { uuid, home } of groups) {
    if (!home.endsWith(`${sep}${userVariable}`)) continue;
    const parent = dirname(home);
    for (const other of groups) {
      const fixed = other.home.includes(userVariable) ? dirname(`${other.home.slice(0, other.home.indexOf(userVariable))}x`) : other.home;
      if (other.uuid === uuid || fixed === parent || !isInside(fixed, parent)) continue;
      const name = fixed.slice(parent.length + 1).split(sep, 1)[0] ?? '';
      const group = uuid === defaultGroupUuid ? 'default group' : `group "${uuid}"`;
      report(
        'warning',
        'home-collision',
        ['groups', other.uuid, 'home_folder_path'],
        `an account named "${name}" of the ${group} would have ${resolve(parent, name)} as its home folder, which holds these`,
      );
    }
  }
}
