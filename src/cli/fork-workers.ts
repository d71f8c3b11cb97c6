import cluster from 'node:cluster';
import type { Fork } from '../workers/worker-process.ts';

/** Name of the command that a worker runs. */
export const workerCommand = '__worker';

/** Prepares this process to start workers: the same script, without arguments that could tell anything. */
export function workerForks(): Fork {
  cluster.schedulingPolicy = cluster.SCHED_RR;
  cluster.setupPrimary({
    exec: process.argv[1] ?? '',
    args: [workerCommand],
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  return () => {
    const worker = cluster.fork();
    // Messages to a process that is just ending are lost, and that is told by its end.
    worker.on('error', () => {});
    const send = (message: unknown[]) => {
      if (worker.isConnected()) worker.process.send(message, undefined, undefined, () => {});
    };
    // What comes before the script listens would be lost: it says so with its first message.
    let waiting: unknown[][] | undefined = [];
    worker.once('message', () => {
      for (const message of waiting ?? []) send(message);
      waiting = undefined;
    });
    return {
      pid: worker.process.pid,
      send: (message) => (waiting ? void waiting.push(message) : send(message)),
      onMessage: (listener) => worker.on('message', listener),
      onEnd: (listener) => worker.once('exit', (code, signal) => listener(signal ? `signal ${signal}` : `exit code ${code}`)),
      disconnect: () => {
        if (worker.isConnected()) worker.process.disconnect();
      },
      kill: () => void worker.process.kill('SIGKILL'),
    };
  };
}
