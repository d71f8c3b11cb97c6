import { resolve, sep } from 'node:path';
import { isServiceError } from '../../lib/errors.ts';
import { parseRedisUrl } from '../../lib/redis/redis-url.ts';
import type { Report } from '../findings.ts';
import type { LoadedConfig } from '../reading/load.ts';
import type { Finding } from '../report-shapes.ts';
import type { Config } from '../schema/schema.ts';

/** Returns a message about the configuration that several nodes need. */
export function needsRedis(workers: number): string {
  return `--workers ${workers} starts nodes that share Redis; write under "server":  state: {type: redis, url: 'redis://127.0.0.1:6379'}`;
}

/** Reports an error if several nodes are to serve a configuration without Redis. @param workers number of nodes */
export function workersFindings({ config, file, source }: LoadedConfig, workers: number): Finding[] {
  if (workers === 1 || config.server.state.type === 'redis') return [];
  const place = source?.locate(['server', 'state'], 'value') ?? { line: 0, column: 0 };
  return [{ severity: 'error', code: 'workers-state', file, ...place, path: 'server.state', message: needsRedis(workers) }];
}

/** If events stay in Redis for at least this number of days, a warning is reported, because they use much memory. */
const longDays = 30;

/** Finds options that cause problems if the state is in Redis. @param isFolderShared whether nodes on one machine share the data folder */
export function lintState(config: Config, report: Report, isFolderShared: boolean): void {
  const { state, events, shutdown_delay } = config.server;
  if (state.type !== 'redis') return;
  checkUrl(state.url, report);
  lintAccountsFiles(config, report, isFolderShared);
  if (state.secret === '') {
    const problem = 'without "secret", nodes do not share remembered credentials, and each node counts the same wrong password again';
    report.warning('state-secret', ['server', 'state'], problem, 'set it to the same random text on all nodes');
  }
  if (state.retention_days === 0 && events.retention_days >= longDays) {
    const hint = 'set server.state.retention_days to less, for example 3; the nodes keep all events in their files';
    report.warning('state-retention', ['server', 'state'], `events stay in the memory of Redis for ${events.retention_days} days`, hint);
  }
  if (shutdown_delay === 0) {
    const problem = 'a node that ends refuses connections before the load balancer has noticed';
    const hint = 'set at least 2 seconds, and more than the interval at which the load balancer asks /ready';
    report.warning('shutdown-delay', ['server', 'shutdown_delay'], problem, hint);
  }
}

function checkUrl(url: string, report: Report): void {
  try {
    parseRedisUrl(url);
  } catch (error) {
    if (!isServiceError(error)) throw error;
    report.error('state-url', ['server', 'state', 'url'], error.message);
  }
}

/** Finds accounts files that the nodes do not share. With such a file, the other nodes would not learn of a password change. */
function lintAccountsFiles(config: Config, report: Report, isFolderShared: boolean): void {
  const configured = Object.entries(config.authentications);
  const changeable = Object.entries(config.groups).find(([, group]) => group.allow_own_password_change)?.[0];
  const check = (file: string, path: PropertyKey[]) => {
    const isOwn = file === '' || resolve(file).startsWith(resolve(config.server.data_folder_path) + sep);
    if (!isOwn || (isFolderShared && changeable === undefined)) return;
    const hint = 'set accounts_file_path to a file on the file system that the nodes share';
    const where = `the accounts file is in the data folder${isFolderShared ? ' of this machine' : ', so each node has its own'}`;
    const effect = `after a password change (group "${changeable}") the old password would still work on`;
    if (changeable === undefined) report.warning('accounts-file-own', path, where, hint);
    else if (isFolderShared)
      report.warning('accounts-file-own', path, `${where}: if other machines share this Redis, ${effect} them`, hint);
    else report.error('accounts-file-own', path, `${where}: ${effect} the other nodes`, hint);
  };
  // If no method is configured, the service uses one of type application with default options.
  if (configured.length === 0) check('', ['server', 'state']);
  for (const [uuid, method] of configured)
    if (method.enabled && method.type === 'application')
      check(method.accounts_file_path, ['authentications', uuid, ...(method.accounts_file_path === '' ? [] : ['accounts_file_path'])]);
}
