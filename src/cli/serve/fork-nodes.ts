import type { ChildProcess } from 'node:child_process';
import type { Worker } from 'node:cluster';
import { isSea } from 'node:sea';

/** A connection that is being passed to a node, in the form that node:cluster sends. */
interface Handover {
  act: string;
  seq: number;
}

type Send = (message: unknown, handle?: unknown, ...rest: unknown[]) => boolean;

/**
 * Prepares this process to start nodes. They run the same script with no argument except `__node`, so the process list reveals nothing
 * else.
 */
export async function nodeForks(): Promise<() => ChildProcess> {
  // Imported on demand, because a static import would load the module for every command.
  const { default: cluster } = await import('node:cluster');
  // Distribute connections in turn. Otherwise the node that accepts fastest would get most of a burst.
  cluster.schedulingPolicy = cluster.SCHED_RR;
  cluster.setupPrimary({
    // A binary is its own script, so its first argument is at the position of the script's path.
    ...(isSea() ? { exec: '__node', args: [] } : { exec: process.argv[1] ?? '', args: ['__node'] }),
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const listening = new Set<Worker>();
  return () => {
    const worker = cluster.fork();
    worker.once('listening', () => listening.add(worker));
    // If a message cannot be sent, the process has ended, which is reported elsewhere.
    worker.on('error', () => {});
    rescueConnections(worker, listening);
    return worker.process;
  };
}

/**
 * If a node ends before it has accepted a connection, passes the connection to another node. node:cluster would forget these open
 * connections, and their clients would wait forever.
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
  // The two events may occur in either order, and connections may be passed to the node until the second event.
  worker.once('exit', rescue);
  worker.once('disconnect', rescue);
}
