import type { Worker } from 'node:cluster';
import { isSea } from 'node:sea';
import type { Fork } from '../../server/workers/worker-process.ts';

/** A connection on its way to a worker, as node:cluster sends it. */
interface Handover {
  act: string;
  seq: number;
}

type Send = (message: unknown, handle?: unknown, ...rest: unknown[]) => boolean;

/** Prepares this process to start workers: the same script, without arguments that could tell anything. */
export async function workerForks(): Promise<Fork> {
  // A module of Node.js that is imported by name is loaded by every command.
  const { default: cluster } = await import('node:cluster');
  // Each gets connections in turn; who is quicker at accepting would get most of a burst.
  cluster.schedulingPolicy = cluster.SCHED_RR;
  cluster.setupPrimary({
    // A binary is its own script: what stands where others name theirs is its first argument.
    ...(isSea() ? { exec: '__worker', args: [] } : { exec: process.argv[1] ?? '', args: ['__worker'] }),
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const listening = new Set<Worker>();
  return () => {
    const worker = cluster.fork();
    worker.once('listening', () => listening.add(worker));
    // Messages to a process that is just ending are lost, and that is told by its end.
    worker.on('error', () => {});
    rescueConnections(worker, listening);
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

/**
 * Gives connections that a worker did not take before it ended to another one. node:cluster forgets them, open: their clients would
 * wait for ever.
 */
function rescueConnections(worker: Worker, listening: Set<Worker>): void {
  const { process: child } = worker;
  const underWay = new Map<number, { message: Handover; handle: { close(): void } }>();
  const send = child.send.bind(child) as Send;
  (child as { send: Send }).send = (message, handle, ...rest) => {
    const handover = message as Partial<Handover> | null;
    if (handle && handover?.act === 'newconn' && handover.seq !== undefined)
      underWay.set(handover.seq, { message: handover as Handover, handle: handle as { close(): void } });
    return send(message, handle, ...rest);
  };
  child.on('internalMessage', ({ ack }: { ack?: number }) => {
    if (ack !== undefined) underWay.delete(ack);
  });
  const rescue = () => {
    listening.delete(worker);
    const [heir] = [...listening].filter((other) => other.isConnected());
    for (const { message, handle } of underWay.values()) {
      if (heir) (heir.process as { send: Send }).send(message, handle);
      else handle.close();
    }
    underWay.clear();
  };
  // In either order, and connections may be handed over until the second.
  worker.once('exit', rescue);
  worker.once('disconnect', rescue);
}
