import { resolve, sep } from 'node:path';
import { isServiceError } from '../../lib/errors.ts';
import { parseRedisUrl } from '../../lib/redis/redis-url.ts';
import type { Finding, Report } from '../findings.ts';
import type { LoadedConfig } from '../reading/load.ts';
import type { Config } from '../schema/schema.ts';

/** Says what to write so that several nodes can be started. @param workers how many */
export function needsRedis(workers: number): string {
  return `--workers ${workers} starts nodes that share Redis; write under "server":  state: {type: redis, url: 'redis://127.0.0.1:6379'}`;
}

/** What keeps a configuration from being served by several nodes. @param workers how many */
export function workersFindings({ config, file, source }: LoadedConfig, workers: number): Finding[] {
  if (workers === 1 || config.server.state.type === 'redis') return [];
  const place = source?.locate(['server', 'state'], 'value') ?? { line: 0, column: 0 };
  return [{ severity: 'error', code: 'workers-state', file, ...place, path: 'server.state', message: needsRedis(workers) }];
}

/** As many days of events as files hold well are a lot of memory. */
const longDays = 30;

/** Finds what does not go together with state in Redis, or hurts there. @param isFolderShared by nodes of one machine */
export function lintState(config: Config, report: Report, isFolderShared: boolean): void {
  const { state, events, shutdown_delay } = config.server;
  if (state.type !== 'redis') return;
  checkUrl(state.url, report);
  lintAccountsFiles(config, report, isFolderShared);
  const warn = (code: 'state-secret' | 'state-retention' | 'shutdown-delay', path: string[], message: string, hint: string) =>
    report('warning', code, ['server', ...path], message, hint);
  if (state.secret === '')
    warn(
      'state-secret',
      ['state'],
      'without "secret" the nodes share no remembered credentials, and each counts a wrong password anew',
      'the same random text on all nodes',
    );
  if (state.retention_days === 0 && events.retention_days >= longDays)
    warn(
      'state-retention',
      ['state'],
      `events stay in the memory of Redis for ${events.retention_days} days`,
      'retention_days of the state may be shorter, for example 3: the files of the nodes keep events longer',
    );
  if (shutdown_delay === 0)
    warn(
      'shutdown-delay',
      ['shutdown_delay'],
      'a node that ends refuses connections before the load balancer has noticed',
      'at least 2, and longer than the load balancer takes to ask /ready',
    );
}

function checkUrl(url: string, report: Report): void {
  try {
    parseRedisUrl(url);
  } catch (error) {
    if (!isServiceError(error)) throw error;
    report('error', 'state-url', ['server', 'state', 'url'], error.message);
  }
}

/** A password that is changed in one file stays what it was in the others; nodes on one machine have one file. */
function lintAccountsFiles(config: Config, report: Report, isFolderShared: boolean): void {
  const configured = Object.entries(config.authentications);
  const changeable = Object.entries(config.groups).find(([, group]) => group.allow_own_password_change)?.[0];
  const check = (file: string, path: PropertyKey[]) => {
    const isOwn = file === '' || resolve(file).startsWith(resolve(config.server.data_folder_path) + sep);
    if (!isOwn || (isFolderShared && changeable === undefined)) return;
    const hint = 'accounts_file_path on the file system that the nodes share';
    if (changeable === undefined)
      report('warning', 'accounts-file-own', path, 'the accounts file is in the data folder, so each node has its own', hint);
    else if (isFolderShared)
      report(
        'warning',
        'accounts-file-own',
        path,
        `the accounts file is in the data folder of this machine: if other machines share this Redis, after a password change (group "${changeable}") the old password would still work on them`,
        hint,
      );
    else
      report(
        'error',
        'accounts-file-own',
        path,
        `the accounts file is in the data folder, so each node has its own: after a password change (group "${changeable}") the old password would still work on the other nodes`,
        hint,
      );
  };
  // Without methods there is one for local accounts, with its defaults.
  if (configured.length === 0) check('', ['server', 'state']);
  for (const [uuid, method] of configured)
    if (method.enabled && method.type === 'application')
      check(method.accounts_file_path, ['authentications', uuid, ...(method.accounts_file_path === '' ? [] : ['accounts_file_path'])]);
}
