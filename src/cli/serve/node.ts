import { once } from 'node:events';
import type { LoadedConfig } from '../../config/reading/load.ts';
import type { ReloadReport } from '../../config/report-shapes.ts';
import { systemClock } from '../../lib/clock.ts';
import { onOldFile, readAsRoot } from '../../lib/disk/named-file.ts';
import { ServiceError } from '../../lib/errors.ts';
import { createLog } from '../../lib/log.ts';
import type { MetricFigures } from '../../monitor/sources.ts';
import { Server } from '../../server/server.ts';
import { type NodeSetup, nodeFolder } from '../../server/supervisor/node-setup.ts';
import { Peer } from '../../server/supervisor/peer.ts';
import { exitCode } from '../exit-codes.ts';
import { endByFault } from './end-by-fault.ts';
import { dropPrivileges } from './privileges.ts';

/** Maximum time, in milliseconds, from the end of the supervisor to the end of its nodes. */
const endWithinMs = 3000;

/**
 * Runs a node of `svc serve --workers`. It is an ordinary server that trusts the process which started it, and that ends with that process.
 */
export async function node(): Promise<number> {
  if (!process.send) throw new ServiceError('bad-request', '__node is started by "svc serve --workers", not by people.');
  // Ctrl-C sends the signal to the whole process group, but only the supervisor decides when a node stops.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  // Imported on demand, because a static import would load the module for every command.
  const { default: cluster } = await import('node:cluster');
  // Without this, Node.js would end this process immediately when the supervisor ends.
  if (cluster.worker) cluster.worker.exitedAfterDisconnect = true;
  const gone = once(process, 'disconnect');
  const makeLog = (options: NodeSetup['log'], fields = {}) =>
    createLog({ ...options, fields, clock: systemClock, write: (line) => process.stderr.write(line) });
  let log = makeLog({ level: 'warn', format: 'json', colour: false });
  let server: Server | undefined;
  const running = () => {
    if (!server) throw new ServiceError('unavailable', 'The node has not started.');
    return server;
  };
  const start = async (setup: NodeSetup) => {
    if (server) throw new ServiceError('unavailable', 'The node has already started.');
    const { number: node, loaded, configPath: path } = setup;
    log = makeLog(setup.log, { node });
    endByFault(log, () => server?.flushNow());
    for (const [path, bytes] of setup.files) readAsRoot.set(path, bytes);
    onOldFile((path) =>
      log.warn('a file that only root may read cannot be read again; the content that was read at the start is used', { path }),
    );
    // The supervisor reads the configuration file for all nodes and logs its errors.
    const file = path === undefined ? {} : { file: { path, env: process.env, textOf: () => '' } };
    const figures = () => supervisor.ask<MetricFigures[]>('figures');
    const reload = () => supervisor.ask<ReloadReport>('reload');
    server = new Server(loaded, { clock: systemClock, log, supervisor: { setup, figures, reload }, ...file });
    await server.start();
    dropPrivileges(loaded.config.server, nodeFolder(setup), log);
    return server.listening();
  };
  const answers = {
    start,
    reload: async (next: LoadedConfig) => (await running().reload(next)).ended,
    renewTickets: (secret: Buffer) => running().renewTickets(secret),
    figures: () => running().figures(),
    stop: async () => process.exit((await running().stop()) ? exitCode.done : exitCode.terminated),
  };
  const supervisor = new Peer(process, answers, () => log.warn('a malformed or unexpected message of the supervisor is ignored'));
  supervisor.ask('hello').catch(() => {});
  await gone;
  // The supervisor has ended, so the node cuts its transfers and ends, too.
  systemClock.after(endWithinMs, () => process.exit(exitCode.cannotRun));
  server?.hurry();
  await server?.stop();
  return process.exit(exitCode.done);
}
