import { resolve } from 'node:path';
import { permissionsOfEmptyList } from '../../accounts/permissions.ts';
import { isBelow } from '../../files/disk/real-roots.ts';
import type { Report } from '../findings.ts';
import type { Config } from '../schema/schema.ts';
import { EarlierRules } from './earlier-rules.ts';

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
