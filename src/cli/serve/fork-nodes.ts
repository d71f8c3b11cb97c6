import type { ChildProcess } from 'node:child_process';
import type { Worker } from 'node:cluster';
import { isSea } from 'node:sea';

/** A connection on its way to a node, in the form of node:cluster. */
interface Handover {
  act: string;
  seq: number;
}

type Send = (message: unknown, handle?: unknown, ...rest: unknown[]) => boolean;

/** Prepares the start of nodes. Their only argument is `__node`, so the process list reveals nothing else. */
export async function nodeForks(): Promise<() => ChildProcess> {
  // A static import would load the module for every command.
  const { default: cluster } = await import('node:cluster');
  // In turn, because the fastest node would get most of a burst.
  cluster.schedulingPolicy = cluster.SCHED_RR;
  cluster.setupPrimary({
    // A binary is its own script, so its first argument takes the place of the script's path.
    ...(isSea() ? { exec: '__node', args: [] } : { exec: process.argv[1] ?? '', args: ['__node'] }),
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const listening = new Set<Worker>();
  return () => {
    const worker = cluster.fork();
    worker.once('listening', () => listening.add(worker));
    // The process has ended, which is reported elsewhere.
    worker.on('error', () => {});
    rescueConnections(worker, listening);
    return worker.process;
  };
}

/** Passes connections of an ended node to another one. node:cluster would forget them, and clients would wait forever. */
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
  // Either order is possible, and connections may be passed until the second event.
  worker.once('exit', rescue);
  worker.once('disconnect', rescue);
}
