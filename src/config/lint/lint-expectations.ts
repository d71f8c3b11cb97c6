import { defaultPermissions, Permissions } from '../../accounts/permissions.ts';
import { dueTimesOf, Expectation } from '../../expectations/expectation.ts';
import type { ExpectationOptions } from '../../expectations/options.ts';
import { pathOfDay } from '../../expectations/schedule.ts';
import { neededRights } from '../../files/needed-rights.ts';
import { didYouMean } from '../../lib/nearest-name.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { Report } from '../findings.ts';
import type { Config } from '../schema/schema.ts';

/** Finds expectations that no file can meet, and other faults in expectations. @param nowMs Unix time in milliseconds */
export function lintExpectations(config: Config, report: Report, nowMs: number): void {
  for (const [uuid, options] of Object.entries(config.expectations)) {
    if (!options.enabled) continue;
    const at = (...path: PropertyKey[]) => ['expectations', uuid, ...path];
    const { account, group } = options;
    const groups = Object.keys(config.groups);
    if (group !== undefined && !groups.includes(group))
      report.error('unknown-reference', at('group'), `there is no group "${group}"`, () => didYouMean(group, new Set(groups)));
    const isAnyMethod = Object.values(config.authentications).some(({ type, enabled }) => enabled && type !== 'application');
    if (account !== undefined && !isAnyMethod && !config.accounts[account] && !hasAccountsFile(config))
      report.warning('expectation-never', at('account'), `there is no account "${account}"; the files can never arrive`);
    lintWritable(config, options, nowMs, (message) => report.warning('expectation-never', at('path'), message));
    let expectation: Expectation;
    try {
      expectation = new Expectation(uuid, options, dueTimesOf(options), nowMs);
    } catch (error) {
      report.error('file-unreadable', at('holidays'), `${options.holidays}: ${(error as Error).message}`);
      continue;
    }
    const first = expectation.dueAfter(nowMs);
    const second = first === undefined ? undefined : expectation.dueAfter(first);
    if (first === undefined)
      report.warning('expectation-never', at('schedule'), 'no file is ever due: the schedule has no date in the next ten years');
    else if (second !== undefined && first + options.grace * 1000 > second)
      report.warning(
        'expectation-overlap',
        at('grace'),
        'ends after the next due time: a late file may then count for either of the two due times',
      );
  }
}

/** Reports an expected path at which the account may not create a file. Checks only accounts of the configuration. */
function lintWritable(config: Config, options: ExpectationOptions, nowMs: number, tell: (message: string) => void): void {
  const { account = '' } = options;
  const configuration = Object.hasOwn(config.accounts, account) ? config.accounts[account] : undefined;
  if (!configuration) return;
  const group = Object.hasOwn(config.groups, configuration.group) ? config.groups[configuration.group] : undefined;
  const permissions = new Permissions(configuration.permissions ?? group?.permissions ?? defaultPermissions, account);
  const dated = pathOfDay(options.path, new Date(nowMs));
  // A regular expression, a class or a list of globs may match many paths, so it is not checked. Wildcards are replaced by a letter.
  if (!dated.startsWith('/') || /[[\]|]/.test(dated)) return;
  const path = dated.replaceAll(/[*?]/g, 'a') as VirtualPath;
  if (!permissions.allowsAny(path, neededRights.createFile))
    tell(`the account "${account}" may not write ${options.path}; the files can never arrive`);
}

function hasAccountsFile({ authentications }: Config): boolean {
  return Object.values(authentications).some((method) => method.type === 'application' && method.accounts_file_path !== '');
}
