import { CalloutMethod } from '../auth/callout.ts';
import { configHash } from '../config/config-hash.ts';
import type { Config } from '../config/schema/schema.ts';
import type { Clock } from '../lib/clock.ts';
import type { MonitorSources } from '../monitor/sources.ts';
import type { Core } from './core.ts';
import type { Fleet } from './fleet-listeners.ts';
import type { Listeners } from './listeners.ts';
import type { RequestParts } from './parts.ts';
import type { SharedState } from './state.ts';

/** A server at one moment; what it has not opened yet is undefined. */
export interface ServerView {
  phase: 'starting' | 'ready' | 'stopping';
  config: Config;
  core: Core | undefined;
  parts: RequestParts | undefined;
  state: SharedState | undefined;
  listeners: Listeners | undefined;
  fleet: Fleet | undefined;
}

/**
 * What the monitor asks a server.
 *
 * @param view the server as it is now; asked for figures once its core is open
 * @param hasWorkers whether other processes answer the requests
 */
export function monitorSources(view: () => ServerView, clock: Clock, hasWorkers: boolean): MonitorSources {
  const core = () => view().core as Core;
  return {
    async checks() {
      const { phase, state, fleet } = view();
      return {
        server: phase === 'ready' || phase,
        journal: core().journalCheck(),
        state: state?.check() ?? 'not opened',
        ...(fleet && { workers: fleet.workers?.check() ?? 'not started' }),
      };
    },
    services: async () => view().listeners?.figures() ?? [],
    handlers: () => core().handlerFigures(clock.nowMs()),
    async suspendedUrls() {
      const methods = [...(view().parts?.methods.values() ?? [])].filter((method) => method instanceof CalloutMethod);
      return [
        ...methods.map(({ uuid, suspendedUrls: count }) => ({ kind: 'authentication' as const, uuid, count })),
        ...(await core().deliveries.figures()).map(({ handler: uuid, suspendedUrls: count }) => ({
          kind: 'event-handler' as const,
          uuid,
          count,
        })),
      ];
    },
    journalBytes: () => core().journal.sizeBytes(),
    configHash: () => configHash(view().config),
    shared: () => core().sharedFigures(),
    workers: hasWorkers ? async () => view().fleet?.workers?.sources() ?? { running: 0, restarts: 0, figures: [] } : undefined,
  };
}
