import { Expectation } from '../../expectations/expectation.ts';
import { didYouMean } from '../../lib/nearest-name.ts';
import type { Report } from '../findings.ts';
import type { Config } from '../schema/schema.ts';

/** Finds expectations that nothing can meet. @param nowMs Unix time in milliseconds */
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
      report.warning('expectation-never', at('account'), `there is no account "${account}"; the files can never come`);
    let expectation: Expectation;
    try {
      expectation = new Expectation(uuid, options, nowMs);
    } catch (error) {
      report.error('file-unreadable', at('holidays'), `${options.holidays}: ${(error as Error).message}`);
      continue;
    }
    const first = expectation.dueAfter(nowMs);
    const second = first === undefined ? undefined : expectation.dueAfter(first);
    if (first === undefined) report.warning('expectation-never', at('schedule'), 'it is never due: the schedule has no date in ten years');
    else if (second !== undefined && first + options.grace * 1000 > second)
      report.warning('expectation-overlap', at('grace'), 'it ends after the next due time: a late file may count for either');
  }
}

function hasAccountsFile({ authentications }: Config): boolean {
  return Object.values(authentications).some((method) => method.type === 'application' && method.accounts_file_path !== '');
}
