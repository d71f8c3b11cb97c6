import { systemClock } from '../../lib/clock.ts';
import { onOldFile, readAsRoot } from '../../lib/disk/named-file.ts';
import { ServiceError } from '../../lib/errors.ts';
import { createLog, type LogOptions } from '../../lib/log.ts';
import { nothingEnded } from '../../server/listeners.ts';
import { Server } from '../../server/server.ts';
import { type Api, Calls } from '../../server/supervisor/calls.ts';
import { nodeOffer, receivedConfig, type SupervisorCalls, supervisorOffer } from '../../server/supervisor/protocol.ts';
import { nodeFolder } from '../../server/supervisor/share-of-node.ts';
import { exitCode } from '../exit-codes.ts';
import { endByFault } from './end-by-fault.ts';
import { dropPrivileges } from './privileges.ts';

/** Time for a node whose supervisor is gone to cut its transfers. */
const endWithinMs = 3000;

/** Runs one of the nodes of `svc serve --workers`, an ordinary server beside others; it ends with the process that started it. */
export async function node(): Promise<number> {
  if (!process.send) throw new ServiceError('bad-request', '__node is started by "svc serve --workers", not by people.');
  // Ctrl-C reaches the whole group; only the supervisor decides.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  // A module of Node.js that is imported by name is loaded by every command.
  const { default: cluster } = await import('node:cluster');
  // Else Node.js would end this process before it has ended its work.
  if (cluster.worker) cluster.worker.exitedAfterDisconnect = true;
  const gone = new Promise<void>((resolve) => process.once('disconnect', resolve));
  let server: Server | undefined;
  let next: Awaited<ReturnType<Server['prepareReload']>> | undefined;
  const makeLog = (options: Pick<LogOptions, 'level' | 'format' | 'colour' | 'fields'>) =>
    createLog({ ...options, clock: systemClock, write: (line) => process.stderr.write(line) });
  let log = makeLog({ level: 'warn', format: 'json' });
  const takeNext = () => {
    const taken = next;
    next = undefined;
    return taken;
  };
  const running = () => {
    if (!server) throw new ServiceError('unavailable', 'The node has not started.');
    return server;
  };
  const api: Api<typeof nodeOffer> = {
    async start(setup) {
      if (server) throw new ServiceError('unavailable', 'The node has started.');
      const { number, loaded, configPath: path, dataFolderPath } = setup;
      log = makeLog({ ...setup.log, fields: { node: number } });
      endByFault(log, () => server?.flushNow());
      for (const [path, bytes] of setup.files) readAsRoot.set(path, bytes);
      onOldFile((path) => log.warn('a file that only root may read is taken as it was at the start', { path }));
      // The supervisor reads it for all nodes, and logs what is amiss.
      const file = path === undefined ? {} : { file: { path, env: process.env, textOf: () => '' } };
      server = new Server(receivedConfig(loaded), { clock: systemClock, log, supervisor: { setup, calls }, ...file });
      await server.start();
      dropPrivileges(loaded.config.server, nodeFolder(dataFolderPath, number), log);
      return { listening: server.listening(), files: readAsRoot };
    },
    async prepare(loaded) {
      next = await running().prepareReload(receivedConfig(loaded));
    },
    commit: async () => (await takeNext()?.commit()) ?? nothingEnded,
    abort: async () => takeNext()?.abort(),
    renewTickets: (secret) => running().renewTickets(secret),
    lookAtAccounts: () => running().lookAtAccounts(),
    figures: () => running().figures(),
    stop: () => running().stop(),
    hurry: () => running().hurry(),
  };
  // A supervisor that is gone ends this process; nobody need be told.
  const send = (message: unknown) => process.send?.(message, undefined, undefined, () => {});
  const calls: SupervisorCalls = new Calls([nodeOffer, api], supervisorOffer, send, () =>
    log.warn('a malformed or unexpected message of the supervisor is ignored'),
  );
  process.on('message', (message) => calls.receive(message));
  calls.call('hello').catch(() => {});
  await gone;
  // Without a supervisor transfers are cut.
  systemClock.after(endWithinMs, () => process.exit(exitCode.cannotRun));
  calls.close('The supervisor is gone.');
  server?.hurry();
  await server?.stop();
  process.exit(exitCode.done);
}
