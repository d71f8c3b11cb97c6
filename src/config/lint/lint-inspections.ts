import { resolve } from 'node:path';
import { defaultGroupUuid } from '../../accounts/account.ts';
import type { InspectionOptions } from '../../accounts/inspection-rules.ts';
import { didYouMean } from '../../lib/nearest-name.ts';
import { isWithin } from '../../lib/virtual-path.ts';
import type { Report } from '../findings.ts';
import type { Config } from '../schema/schema.ts';
import { isThisMachine } from './lint-remotes.ts';

/** Finds references to missing or disabled inspections, faults in inspections, and ways around them. */
export function lintInspections(config: Config, report: Report): void {
  for (const section of ['groups', 'accounts'] as const)
    for (const [name, { inspections }] of Object.entries(config[section]))
      if (inspections) checkReferences(config, inspections, [section, name, 'inspections'], report);
  for (const [uuid, inspection] of Object.entries(config.inspections)) {
    const path = ['inspections', uuid];
    if (inspection.maximum_size !== undefined && inspection.on_larger === undefined)
      report.warning(
        'inspection-larger',
        [...path, 'maximum_size'],
        'larger files are held, because on_larger does not say what happens to them',
      );
    if (inspection.type !== 'http' || inspection.content !== 'path') continue;
    const remote = inspection.url.find((url) => !isThisMachine(new URL(url).hostname));
    if (remote !== undefined)
      report.warning(
        'inspection-path',
        [...path, 'content'],
        `${new URL(remote).host} gets a path of this machine, and cannot read the file`,
      );
  }
  findOpenDoors(config, report);
  findOpenAccounts(config, report);
}

function checkReferences({ inspections }: Config, { general, rules }: InspectionOptions, path: PropertyKey[], report: Report): void {
  const lists = [general, ...rules.map((rule) => rule.inspections)];
  for (const [index, uuids] of lists.entries())
    for (const uuid of uuids) {
      const inspection = inspections[uuid];
      if (!inspection)
        report.error('unknown-reference', [...path, index], `there is no inspection "${uuid}"`, () =>
          didYouMean(uuid, new Set(Object.keys(inspections))),
        );
      else if (!inspection.enabled) report.error('inspection-disabled', [...path, index], `the inspection "${uuid}" is disabled`);
    }
}

const isInspected = (options: InspectionOptions | undefined) =>
  options !== undefined && [options.general, ...options.rules.map(({ inspections }) => inspections)].some((uuids) => uuids.length > 0);

/** Finds groups whose accounts may write, without inspections, to a folder for which another group has inspections. */
function findOpenDoors({ groups }: Config, report: Report): void {
  const folders = Object.entries(groups).flatMap(([uuid, group]) =>
    [group.home_folder_path, ...group.virtual_folders.map(([, real]) => real)].flatMap((path) =>
      path ? [{ uuid, isInspected: isInspected(group.inspections), mayWrite: mayWrite(group.permissions), path: resolve(path) }] : [],
    ),
  );
  const inspected = folders.filter((folder) => folder.isInspected);
  for (const open of folders) {
    if (open.isInspected || !open.mayWrite) continue;
    const same = inspected.find(({ path }) => isWithin(path, open.path) || isWithin(open.path, path));
    if (same)
      report.warning(
        'inspection-open',
        ['groups', open.uuid],
        `its accounts write to ${open.path} without the inspections that group "${same.uuid}" has there`,
      );
  }
}

/** Finds accounts that may write, and whose own option `inspections` drops all inspections of their group. */
function findOpenAccounts({ groups, accounts }: Config, report: Report): void {
  for (const [name, { group, inspections, permissions }] of Object.entries(accounts)) {
    const uuid = group ?? defaultGroupUuid;
    const of = groups[uuid];
    if (!of || inspections === undefined || isInspected(inspections) || !isInspected(of.inspections)) continue;
    if (mayWrite(permissions ?? of.permissions))
      report.warning(
        'inspection-open',
        ['accounts', name, 'inspections'],
        `the account writes without the inspections of its group "${uuid}"`,
      );
  }
}

function mayWrite({ general, rules }: Config['groups'][string]['permissions']): boolean {
  return [general, ...rules.map(({ permissions }) => permissions)].some((keywords) =>
    keywords.some((keyword) => ['allow-full-control', 'allow-write', 'allow-create-file', 'allow-rename'].includes(keyword)),
  );
}
