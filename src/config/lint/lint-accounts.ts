import { X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import { defaultGroupUuid, type GroupConfiguration, noHomeFolder } from '../../accounts/account.ts';
import { permissionsOfEmptyList } from '../../accounts/permissions.ts';
import { isBelow } from '../../files/disk/real-roots.ts';
import { keyLineFault } from '../../ssh/public-key-fault.ts';
import type { Report } from '../findings.ts';
import type { Config } from '../schema/schema.ts';
import { EarlierRules } from './earlier-rules.ts';
import { homeOptionsInForce } from './lint-homes.ts';

/** Permissions that grant more than they look like, rules that nothing reaches, and virtual folders that hide each other or show the same files twice. */
export function lintPermissions(config: Config, report: Report): void {
  const holders = [
    ...Object.entries(config.groups).map(([uuid, group]) => ({ path: ['groups', uuid], ...group })),
    ...Object.entries(config.accounts).map(([name, account]) => ({ path: ['accounts', name], ...account })),
  ];
  for (const [uuid, group] of Object.entries(config.groups)) {
    if (group.permissions === permissionsOfEmptyList)
      report(
        'warning',
        'permissions-empty',
        ['groups', uuid, 'permissions'],
        '[] is the default, [[allow-full-control]]; [[]] grants nothing',
      );
  }
  for (const { path, permissions, virtual_folders, home_folder_path } of holders) {
    const earlier = new EarlierRules();
    for (const [index, { expression }] of (permissions?.rules ?? []).entries()) {
      const cover = earlier.add(expression);
      if (cover !== undefined)
        report(
          'warning',
          'rule-unreachable',
          [...path, 'permissions', index + 1],
          `"${expression}" is never reached: "${cover}" comes first`,
        );
    }
    lintVirtualFolders(virtual_folders ?? [], home_folder_path ?? '', path, report);
  }
}

function lintVirtualFolders(folders: readonly (readonly [string, string])[], home: string, path: PropertyKey[], report: Report): void {
  const virtual = new Map<string, number>();
  const real: { virtualPath: string; realPath: string }[] = home === '' ? [] : [{ virtualPath: '/', realPath: resolve(home) }];
  for (const [index, [virtualPath, realPath]] of folders.entries()) {
    const at = [...path, 'virtual_folders', index];
    const name = `/${virtualPath.split('/').filter(Boolean).join('/')}`;
    if (virtual.has(name)) report('error', 'virtual-folder-overlap', at, `"${name}" is there twice`);
    virtual.set(name, index);
    const folder = resolve(realPath);
    const other = real.find((candidate) => isBelow(folder, candidate.realPath) || isBelow(candidate.realPath, folder));
    if (other)
      report(
        'warning',
        'virtual-folder-overlap',
        at,
        `${folder} is also seen below "${other.virtualPath}"; a permission rule for one path does not hold for the other`,
      );
    real.push({ virtualPath: name, realPath: folder });
  }
}

/** Accounts that cannot log in, and accounts that nobody asks for. */
export function lintAccounts(config: Config, report: Report): void {
  const methods = Object.values(config.authentications);
  const hasApplication = methods.length === 0 || methods.some((method) => method.enabled && method.type === 'application');
  const names = Object.keys(config.accounts);
  if (names.length > 0 && !hasApplication)
    report('warning', 'accounts-unused', ['accounts'], 'no enabled authentication method of type application asks for these accounts');
  for (const [name, account] of Object.entries(config.accounts)) {
    const path = ['accounts', name];
    const unusable = (why: string, at = path) => report('warning', 'account-unusable', at, why);
    const hasKeys = (account.ssh_keys?.length ?? 0) > 0;
    const hasCertificates = (account.certificates?.length ?? 0) > 0;
    if (!account.password && !hasKeys && !hasCertificates)
      unusable('has no password, no ssh_keys and no certificates; nobody can log in with it');
    for (const [index, pem] of (account.certificates ?? []).entries()) {
      if (!isCertificate(pem)) unusable('is no certificate in PEM', [...path, 'certificates', index as never]);
    }
    for (const [index, line] of (account.ssh_keys ?? []).entries()) {
      const fault = keyLineFault(line);
      if (fault !== undefined) unusable(fault, [...path, 'ssh_keys', index as never]);
    }
    const group = groupOf(config, account.group);
    if (group && !group.enabled && account.enabled) unusable(`the group "${account.group}" is disabled`, [...path, 'group']);
    if (group !== null && homeOptionsInForce(config, account, account.group).home_folder_path === '')
      unusable(`${noHomeFolder(account.group)}; the login fails`);
  }
}

/** @returns undefined for the default group that is not configured, null for a group that does not exist */
function groupOf(config: Config, uuid: string): GroupConfiguration | undefined | null {
  if (Object.hasOwn(config.groups, uuid)) return config.groups[uuid];
  return uuid === defaultGroupUuid ? undefined : null;
}

function isCertificate(pem: string): boolean {
  try {
    new X509Certificate(pem);
    return true;
  } catch {
    return false;
  }
}
