import { systemClock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { createLog } from '../../lib/log.ts';
import { Worker } from '../../server/worker-server.ts';
import { exitCode } from '../exit-codes.ts';
import { endByFault } from './end-by-fault.ts';
import { becomeAccount } from './privileges.ts';

/** Runs a process that answers requests for `svc serve --workers`; it ends with the process that started it. */
export async function worker(): Promise<number> {
  if (!process.send) throw new ServiceError('bad-request', '__worker is started by "svc serve --workers", not by people.');
  // Ctrl-C reaches the whole group; only the primary process decides.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  const ended = new Promise<number>((resolve) => process.once('disconnect', () => resolve(exitCode.done)));
  const running = new Worker({
    clock: systemClock,
    makeLog: (options, number) => {
      const log = createLog({ ...options, clock: systemClock, write: (line) => process.stderr.write(line), fields: { worker: number } });
      endByFault(log, () => {
        running.flush();
        // Messages keep their order: with this one gone, so are the events.
        return new Promise((resolve) => process.send?.([], undefined, undefined, () => resolve()) ?? resolve());
      });
      return log;
    },
    // A primary process that is gone ends this one; nobody need be told.
    send: (message) => process.send?.(message, undefined, undefined, () => {}),
    dropPrivileges: (server, log) => becomeAccount(server, log),
  });
  process.on('message', (message) => running.receive(message));
  // From now on messages are heard.
  process.send([]);
  const code = await ended;
  // Nothing may be changed any more that nobody records.
  process.exit(code);
}
