import { X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import { defaultGroupUuid, type GroupConfiguration, noHomeFolder } from '../../accounts/account.ts';
import { AccountsFile } from '../../accounts/accounts-file.ts';
import { parseForeignHash } from '../../accounts/foreign-hashes.ts';
import { defaultPermissions, type PermissionOptions, permissionsOfEmptyList } from '../../accounts/permissions.ts';
import { systemClock } from '../../lib/clock.ts';
import { isServiceError } from '../../lib/errors.ts';
import { compileExpression } from '../../lib/expression.ts';
import { silentLog } from '../../lib/log.ts';
import { isWithin } from '../../lib/virtual-path.ts';
import { keyLineFault } from '../../ssh/public-keys.ts';
import type { Report } from '../findings.ts';
import type { Config } from '../schema/schema.ts';
import { homeOptionsInForce } from './lint-homes.ts';

/** Takes the place of wildcards when two globs are compared. No path in a configuration contains this private-use character. */
const anything = '\ue000';

/** A glob of an earlier rule, which may make later rules unreachable. */
interface Cover {
  order: number;
  matches: (text: string) => boolean;
}

/**
 * Collects the rules of one list, and finds for each rule the earlier rule that makes it unreachable. Lists may be long, so rules are
 * indexed by the beginning or end of their globs.
 */
class EarlierRules {
  readonly #expressions: string[] = [];
  readonly #orders = new Map<string, number>();
  readonly #byPrefix = new Map<string, Cover[]>();
  readonly #bySuffix = new Map<string, Cover[]>();

  /** Adds the next rule. @returns the text of the earlier rules that cover it; undefined if there are none */
  add(expression: string): string | undefined {
    const single = this.#firstThatCovers(expression);
    const together = single === undefined ? this.#coveredTogether(expression) : undefined;
    // A covered rule need not be in the index, because the earlier rule also covers everything that the covered rule would cover. Globs
    // that begin with "*" are the exception. For example, the index needs "*.csv" in addition to "/*.csv", because only a comparison with
    // "*.csv" shows that "?.csv" is covered.
    const isNeeded = single === undefined || (/(?:^|\|)\s*(?:g\/)?\*/.test(expression) && !this.#orders.has(normalised(expression)));
    if (isNeeded) this.#index(expression);
    return single === undefined ? together : this.#expressions[single];
  }

  #index(expression: string): void {
    const order = this.#expressions.push(expression) - 1;
    if (!this.#orders.has(normalised(expression))) this.#orders.set(normalised(expression), order);
    const globs = splitGlobs(expression) ?? [];
    // An expression with a class or `?` is not in the index. Both can match the character that stands for a `*` (`anything`), but not
    // everything that the `*` itself matches.
    if (!globs.some((glob) => /[?[]/.test(glob))) for (const glob of globs) this.#indexGlob(glob, order);
  }

  #indexGlob(glob: string, order: number): void {
    const { matches } = compileExpression(`g/${glob}/`);
    const parts = glob.toLowerCase().split('*');
    const [prefix = '', suffix = ''] = [parts[0], parts.length > 1 ? parts.at(-1) : ''];
    const [index, key] = prefix.length >= suffix.length ? [this.#byPrefix, prefix] : [this.#bySuffix, suffix];
    const covers = index.get(key);
    if (covers) covers.push({ order, matches });
    else index.set(key, [{ order, matches }]);
  }

  /** Finds the first single rule that matches everything that an expression matches. @returns the index of the rule */
  #firstThatCovers(expression: string): number | undefined {
    const equal = this.#orders.get(normalised(expression));
    const orders = equal === undefined ? [] : [equal];
    const globs = splitGlobs(expression);
    if (globs && !globs.some((glob) => glob.includes('['))) {
      const [first, ...others] = globs.map((glob) => new Set(this.#findCovers(glob)));
      orders.push(...[...(first ?? [])].filter((order) => others.every((other) => other.has(order))));
    }
    return orders.sort((a, b) => a - b)[0];
  }

  /** Finds several rules that together match everything that an expression matches. @returns the text of these rules */
  #coveredTogether(expression: string): string | undefined {
    const globs = splitGlobs(expression);
    if (!globs || globs.length < 2) return undefined;
    const covering = globs.map((glob) => this.#firstThatCovers(glob));
    if (covering.includes(undefined)) return undefined;
    return [...new Set(covering)].map((order) => this.#expressions[order as number]).join('", "');
  }

  /**
   * Finds the rules with a glob that matches everything that another glob matches. Each wildcard of the other glob is replaced by a
   * private-use character that, in the indexed globs, only a `*` can match. All found rules are therefore correct, but some rules may be
   * missed.
   */
  #findCovers(glob: string): number[] {
    const sample = glob.replace(/\*+/g, anything).replaceAll('?', anything);
    // Every virtual path begins with "/", so "*.csv" matches the same paths as "/*.csv". A single "*" also matches "/" itself.
    const samples = glob.startsWith('*') && glob !== '*' ? [sample, `/${sample}`] : [sample];
    return samples.flatMap((text) => this.#candidates(text.toLowerCase()).flatMap(({ order, matches }) => (matches(text) ? [order] : [])));
  }

  #candidates(text: string): Cover[] {
    const found: Cover[] = [];
    for (let length = 0; length <= text.length; length++) {
      found.push(...(this.#byPrefix.get(text.slice(0, length)) ?? []));
      found.push(...(this.#bySuffix.get(text.slice(text.length - length)) ?? []));
    }
    return found;
  }
}

function normalised(expression: string): string {
  return expression.trim().toLowerCase();
}

function splitGlobs(expression: string): string[] | undefined {
  const text = expression.trim();
  const glob = /^g\/([\s\S]*)\/$/.exec(text)?.[1];
  if (glob !== undefined) return [glob];
  if (/^!|^[em]\//.test(text)) return undefined;
  return text.split('|').map((part) => part.trim());
}

/**
 * Finds unreachable rules, lists of permissions that grant more than expected, and virtual folders that have the same path or contain the
 * same files.
 */
export function lintPermissions(config: Config, report: Report): void {
  const holders = [
    ...Object.entries(config.groups).map(([uuid, group]) => ({ path: ['groups', uuid], ...group })),
    ...Object.entries(config.accounts).map(([name, account]) => ({ path: ['accounts', name], ...account })),
  ];
  const emptyHint = '[] means the default, [[allow-full-control]]; to grant nothing, write [[]]';
  for (const [uuid, group] of Object.entries(config.groups))
    if (group.permissions === permissionsOfEmptyList) report.warning('permissions-empty', ['groups', uuid, 'permissions'], emptyHint);
  for (const { path, permissions, virtual_folders, home_folder_path } of holders) {
    const earlier = new EarlierRules();
    for (const [index, { expression }] of (permissions?.rules ?? []).entries()) {
      const cover = earlier.add(expression);
      if (cover !== undefined)
        report.warning('rule-unreachable', [...path, 'permissions', index + 1], `"${expression}" is never reached: "${cover}" comes first`);
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
    if (virtual.has(name)) report.error('virtual-folder-overlap', at, `"${name}" is listed twice`);
    virtual.set(name, index);
    const folder = resolve(realPath);
    const other = real.find((candidate) => isWithin(folder, candidate.realPath) || isWithin(candidate.realPath, folder));
    const effect = 'a permission rule for one path does not apply to the other';
    if (other) report.warning('virtual-folder-overlap', at, `${folder} is also seen below "${other.virtualPath}"; ${effect}`);
    real.push({ virtualPath: name, realPath: folder });
  }
}

/** Finds uses of `allow-create-file`, `on_name_taken`, `retain` and `trash` that have no effect, or that another right makes pointless. */
export function lintAdding(config: Config, report: Report): void {
  const sets = (permissions: PermissionOptions | null | undefined) =>
    permissions ? [permissions.general, ...permissions.rules.map((rule) => rule.permissions)] : [];
  const has = (set: readonly string[], ...keywords: string[]) => keywords.some((keyword) => set.includes(keyword));
  const grantsAll = (set: readonly string[]) => has(set, 'allow-full-control') && !has(set, 'deny-full-control');
  const onlyAdds = (set: readonly string[]) =>
    has(set, 'allow-create-file') && !has(set, 'allow-write', 'allow-full-control', 'deny-full-control');
  const creates = (set: readonly string[]) =>
    grantsAll(set) || (has(set, 'allow-create-file', 'allow-write') && !has(set, 'deny-full-control'));
  const discards = (set: readonly string[]) =>
    grantsAll(set) || (has(set, 'allow-write', 'allow-delete-file', 'allow-delete-folder') && !has(set, 'deny-full-control'));
  // With an authentication endpoint, accounts may have permissions that are not in the configuration.
  const isOpen = Object.values(config.authentications).some((method) => method.enabled && method.type === 'http');
  const look = (path: PropertyKey[], own: AccountsOptions, inForce: readonly (readonly string[])[], retainDays: number) => {
    for (const [index, set] of sets(own.permissions).entries()) {
      const at = [...path, 'permissions', index];
      if (has(set, 'allow-create-file') && has(set, 'allow-write', 'allow-full-control'))
        report.warning('no-effect', at, 'allow-create-file has no effect: the same list also allows replacing files');
      if (onlyAdds(set) && has(set, 'allow-delete-file') && retainDays === 0)
        report.warning(
          'add-only-undone',
          at,
          'the account may only add files, but with allow-delete-file it can delete a file and add another one in its place',
        );
    }
    const isOfGroup = path[0] === 'groups';
    if (isOfGroup && isOpen) return;
    if (own.on_name_taken === 'number' && retainDays === 0 && !inForce.some(onlyAdds))
      report.warning(
        'no-effect',
        [...path, 'on_name_taken'],
        'has no effect: wherever files may be added, they may also be replaced, and no file is retained',
      );
    if ((own.retain?.days ?? 0) > 0 && !inForce.some(creates))
      report.warning('no-effect', [...path, 'retain'], 'has no effect: no permission allows files to be created');
    if ((own.trash?.days ?? 0) > 0 && !inForce.some(discards))
      report.warning('no-effect', [...path, 'trash'], 'has no effect: no permission allows files to be replaced or anything to be deleted');
  };
  const byGroup = permissionsByGroup(config);
  for (const [uuid, group] of Object.entries(config.groups)) {
    const members = (byGroup.get(uuid) ?? []).flatMap(sets);
    look(['groups', uuid], group, [...sets(group.permissions), ...members], group.retain?.days ?? 0);
  }
  for (const [name, account] of Object.entries(config.accounts)) {
    const group = findGroup(config, account.group);
    const inForce = sets(account.permissions ?? group?.permissions ?? defaultPermissions);
    look(['accounts', name], account, inForce, (account.retain ?? group?.retain)?.days ?? 0);
  }
}

/** Returns the permissions that are set for single accounts, by the UUID of the account's group. */
export function permissionsByGroup({ accounts }: Config): Map<string, PermissionOptions[]> {
  const byGroup = new Map<string, PermissionOptions[]>();
  for (const { group, permissions } of Object.values(accounts)) {
    if (!permissions) continue;
    const known = byGroup.get(group);
    if (known) known.push(permissions);
    else byGroup.set(group, [permissions]);
  }
  return byGroup;
}

type AccountsOptions = Pick<GroupConfiguration, 'permissions' | 'on_name_taken' | 'retain' | 'trash'>;

/** Finds accounts that cannot log in or that no authentication method uses, unusable keys and certificates, and weak password hashes. */
export function lintAccounts(config: Config, report: Report): void {
  const methods = Object.values(config.authentications);
  const hasApplication = methods.length === 0 || methods.some((method) => method.enabled && method.type === 'application');
  const isReplaced = methods.every((method) => method.type !== 'application' || method.replace_password_hashes);
  const remedy = describeReplacement(isReplaced);
  const names = Object.keys(config.accounts);
  if (names.length > 0 && !hasApplication)
    report.warning('accounts-unused', ['accounts'], 'no enabled authentication method of type application uses these accounts');
  for (const [name, account] of Object.entries(config.accounts)) {
    const path = ['accounts', name];
    const unusable = (why: string, at = path) => report.warning('account-unusable', at, why);
    const hasKeys = (account.ssh_keys?.length ?? 0) > 0;
    const hasCertificates = (account.certificates?.length ?? 0) > 0;
    if (!account.password && !hasKeys && !hasCertificates)
      unusable('has no password, no ssh_keys and no certificates; nobody can log in with it');
    for (const [index, pem] of (account.certificates ?? []).entries()) {
      if (!isCertificate(pem)) unusable('is not a certificate in PEM', [...path, 'certificates', index as never]);
    }
    for (const [index, line] of (account.ssh_keys ?? []).entries()) {
      const fault = keyLineFault(line);
      if (fault !== undefined) unusable(fault, [...path, 'ssh_keys', index as never]);
    }
    const { format, weakness } = (account.password ? parseForeignHash(account.password) : undefined) ?? {};
    if (weakness !== undefined)
      report.warning(
        'weak-password-hash',
        [...path, 'password'],
        `is a hash of ${format}, whose password can be guessed fast: ${weakness}`,
        remedy,
      );
    const group = findGroup(config, account.group);
    if (group && !group.enabled && account.enabled) unusable(`the group "${account.group}" is disabled`, [...path, 'group']);
    if (group !== null && homeOptionsInForce(config, account, account.group).home_folder_path === '')
      unusable(`${noHomeFolder(account.group)}; the login fails`);
  }
}

/** Checks the files that `accounts_file_path` names: finds unusable files and weak hashes. All weak hashes of a file are one finding. */
export function lintAccountsFiles({ authentications }: Config, report: Report): void {
  for (const [uuid, method] of Object.entries(authentications)) {
    if (method.type !== 'application' || !method.enabled || method.accounts_file_path === '') continue;
    const path = ['authentications', uuid, 'accounts_file_path'];
    try {
      const weak = new AccountsFile(method.accounts_file_path, {}, systemClock, silentLog).weakHashes();
      const [first] = weak;
      if (!first) continue;
      const message = `has ${weak.length === 1 ? 'a hash' : `${weak.length} hashes`} from other systems, with which passwords can be guessed fast, such as that of "${first.name}" (${first.format}: ${first.weakness})`;
      report.warning('weak-password-hash', path, message, describeReplacement(method.replace_password_hashes));
    } catch (error) {
      if (!isServiceError(error, 'unavailable')) throw error;
      report.error('file-unreadable', path, error.message);
    }
  }
}

function describeReplacement(isReplaced: boolean): string {
  return isReplaced ? 'the first login puts a hash of svc in its place' : 'create a hash with svc hash-password';
}

/** Finds a group by UUID. @returns undefined for the default group if it is not configured; null for a group that does not exist */
function findGroup(config: Config, uuid: string): GroupConfiguration | undefined | null {
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
