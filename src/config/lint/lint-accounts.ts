import { X509Certificate } from 'node:crypto';
import { defaultGroupUuid, type GroupConfiguration, noHomeFolder } from '../../accounts/account.ts';
import { keyLineFault } from '../../ssh/public-key-fault.ts';
import type { Report } from '../findings.ts';
import type { Config } from '../schema/schema.ts';
import { homeOptionsInForce } from './lint-homes.ts';

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
