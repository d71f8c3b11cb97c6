import { CalloutMethod } from '../auth/callout.ts';
import { configHash } from '../config/changes.ts';
import type { LoadedConfig } from '../config/reading/load.ts';
import type { Config } from '../config/schema/schema.ts';
import type { Clock } from '../lib/clock.ts';
import type { MonitorSources } from '../monitor/sources.ts';
import type { Core } from './core.ts';
import type { CertificateEnd } from './listeners.ts';
import type { OwnListeners } from './own-listeners.ts';
import type { RequestParts } from './parts.ts';
import type { State } from './state.ts';

/** The state of a server at one moment. */
export interface ServerView {
  phase: 'starting' | 'ready' | 'stopping';
  loaded: LoadedConfig;
  /** The configuration as this process uses it. Each of several nodes has a share of the limits. */
  config: Config;
  core: Core;
  parts: RequestParts;
  state: State;
  listeners: OwnListeners;
  consoles: { certificateEnds(): CertificateEnd[] };
}

/**
 * Provides the figures for the monitor.
 *
 * @param view returns the current state of the server
 * @param nodes returns the figures of all nodes, if several were started together
 */
export function monitorSources(view: () => ServerView, clock: Clock, nodes?: MonitorSources['nodes']): MonitorSources {
  const core = () => view().core;
  return {
    async checks() {
      const { phase, state } = view();
      return {
        server: phase === 'ready' || phase,
        journal: core().journalCheck(),
        state: state.check(),
      };
    },
    services: () => view().listeners.figures(),
    certificates() {
      const { listeners, consoles } = view();
      const ends = [...listeners.certificateEnds(), ...consoles.certificateEnds()];
      return ends.flatMap(({ service, endMs }) =>
        endMs === undefined ? [] : [{ service, daysLeft: (endMs - clock.nowMs()) / 86_400_000 }],
      );
    },
    handlers: () => core().handlerFigures(clock.nowMs()),
    expectations: () => core().expectations.figures(),
    async suspendedUrls() {
      const methods = [...view().parts.methods.values()].filter((method) => method instanceof CalloutMethod);
      return [
        ...methods.map(({ uuid, suspendedUrls: count }) => ({ kind: 'authentication' as const, uuid, count })),
        ...(await core().deliveries.figures()).map(({ handler: uuid, suspendedUrls: count }) => ({
          kind: 'event-handler' as const,
          uuid,
          count,
        })),
      ];
    },
    async held() {
      const held = await core().files.held.list();
      const inspecting = held.filter((record) => record.held.state === 'inspecting').length;
      const nowMs = clock.nowMs();
      const sinceMs = held.reduce((oldest, record) => Math.min(oldest, record.held.sinceMs), nowMs);
      return { held: held.length - inspecting, inspecting, oldestS: (nowMs - sinceMs) / 1000 };
    },
    journalBytes: () => core().journal.sizeBytes(),
    configHash: () => configHash(view().loaded.config),
    shared: () => core().sharedFigures(),
    nodes,
  };
}
