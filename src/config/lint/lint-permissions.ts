import { resolve, sep } from 'node:path';
import { permissionsOfEmptyList } from '../../accounts/permissions.ts';
import { compileExpression } from '../../lib/expression.ts';
import type { Report } from '../findings.ts';
import type { Config } from '../schema/schema.ts';

/** Stands for any text while two globs are compared; no path of a configuration has it. */
const anything = '\ue000';

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
    const earlier: string[] = [];
    for (const [index, { expression }] of (permissions?.rules ?? []).entries()) {
      const cover = earlier.find((candidate) => covers(candidate, expression)) ?? coverTogether(earlier, expression);
      if (cover !== undefined)
        report(
          'warning',
          'rule-unreachable',
          [...path, 'permissions', index + 1],
          `"${expression}" is never reached: "${cover}" comes first`,
        );
      earlier.push(expression);
    }
    lintVirtualFolders(virtual_folders ?? [], home_folder_path ?? '', path, report);
  }
}

function alternativesOf(expression: string): string[] | undefined {
  const text = expression.trim();
  const glob = /^g\/([\s\S]*)\/$/.exec(text)?.[1];
  if (glob !== undefined) return [glob];
  if (/^!|^[em]\//.test(text)) return undefined;
  return text.split('|').map((part) => part.trim());
}

/**
 * Whether everything that `later` matches is matched by `earlier`. Sound, not complete: a private character in place of each
 * wildcard of `later` can only be taken by a `*` of `earlier`, which takes anything. Classes and regular expressions count
 * only when they are the same text.
 */
function covers(earlier: string, later: string): boolean {
  if (earlier.trim().toLowerCase() === later.trim().toLowerCase()) return true;
  const globs = alternativesOf(later);
  const covering = alternativesOf(earlier);
  if (!globs || !covering || covering.some((glob) => /[?[]/.test(glob)) || globs.some((glob) => glob.includes('['))) return false;
  return globs.every((glob) => covering.some((cover) => coversGlob(cover, glob)));
}

function coversGlob(cover: string, glob: string): boolean {
  const sample = glob.replace(/\*+/g, anything).replaceAll('?', anything);
  const { matches } = compileExpression(`g/${cover}/`);
  // Every virtual path begins with "/", so "*.csv" is "/*.csv"; "*" alone also matches "/" itself.
  return matches(sample) || (glob.startsWith('*') && glob !== '*' && matches(`/${sample}`));
}

/** Several earlier rules that together cover all alternatives of a later one. @returns them, as text */
function coverTogether(earlier: readonly string[], later: string): string | undefined {
  const globs = alternativesOf(later);
  if (!globs || globs.length < 2) return undefined;
  const covering = globs.map((glob) => earlier.find((candidate) => covers(candidate, glob)));
  return covering.every((cover) => cover !== undefined) ? [...new Set(covering)].join('", "') : undefined;
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
    const other = real.find((candidate) => isWithinReal(folder, candidate.realPath) || isWithinReal(candidate.realPath, folder));
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

function isWithinReal(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}
