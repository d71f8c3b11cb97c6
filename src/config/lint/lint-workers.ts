import type { Finding } from '../finding.ts';
import type { LoadedConfig } from '../reading/load.ts';

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
