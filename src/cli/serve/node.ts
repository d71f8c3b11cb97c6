import { systemClock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { createLog } from '../../lib/log.ts';
import { SupervisedNode } from '../../server/supervisor/supervised-node.ts';
import { exitCode } from '../exit-codes.ts';
import { endByFault } from './end-by-fault.ts';
import { dropPrivileges } from './privileges.ts';

/** A node whose supervisor is gone has so long to cut what is under way. */
const endWithinMs = 3000;

/** Runs one of the nodes of `svc serve --workers`; it ends with the process that started it. */
export async function node(): Promise<number> {
  if (!process.send) throw new ServiceError('bad-request', '__node is started by "svc serve --workers", not by people.');
  // Ctrl-C reaches the whole group; only the supervisor decides.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  // A module of Node.js that is imported by name is loaded by every command.
  const { default: cluster } = await import('node:cluster');
  // Else Node.js would end this process before it has ended its work.
  if (cluster.worker) cluster.worker.exitedAfterDisconnect = true;
  const gone = new Promise<void>((resolve) => process.once('disconnect', resolve));
  const running = new SupervisedNode({
    clock: systemClock,
    makeLog: ({ log: options, number }) => {
      const log = createLog({ ...options, clock: systemClock, write: (line) => process.stderr.write(line), fields: { node: number } });
      endByFault(log, () => running.flushNow());
      return log;
    },
    // A supervisor that is gone ends this process; nobody need be told.
    send: (message) => process.send?.(message, undefined, undefined, () => {}),
    dropPrivileges,
  });
  process.on('message', (message) => running.receive(message));
  // From now on messages are heard.
  process.send([]);
  await gone;
  systemClock.after(endWithinMs, () => process.exit(exitCode.cannotRun));
  await running.end();
  process.exit(exitCode.done);
}
