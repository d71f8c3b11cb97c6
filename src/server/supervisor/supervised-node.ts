import type { Config } from '../../config/schema/schema.ts';
import type { Clock } from '../../lib/clock.ts';
import { onOldFile, readAsRoot } from '../../lib/disk/named-file.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { nothingEnded } from '../listeners.ts';
import { Server } from '../server.ts';
import { Calls } from './calls.ts';
import { type NodeApi, type NodeSetup, receivedConfig, type StartedNode, type SupervisorApi } from './protocol.ts';
import { folderOfNode } from './share-of-node.ts';

/** What a node has of the process that it is. */
interface Surroundings {
  clock: Clock;
  /** Makes the log that a setup asks for. */
  makeLog: (setup: NodeSetup) => Log;
  /** Gives a message to the supervisor. */
  send: (message: unknown) => void;
  /** Gives up what only root may, once all addresses are bound. */
  dropPrivileges: (server: Config['server'], dataFolderPath: string, log: Log) => void;
}

/** An ordinary server that a supervisor started beside others. */
export class SupervisedNode {
  readonly #surroundings: Surroundings;
  readonly #calls: Calls<NodeApi, SupervisorApi>;
  #server: Server | undefined;
  #next: Awaited<ReturnType<Server['prepareReload']>> | undefined;

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
    this.#calls = new Calls<NodeApi, SupervisorApi>(surroundings.send, {
      start: (setup) => this.#start(setup),
      prepare: async (loaded) => {
        this.#next = await this.#running.prepareReload(receivedConfig(loaded));
      },
      commit: async () => {
        const ended = (await this.#next?.commit()) ?? nothingEnded;
        return { listening: this.#running.listening(), ended };
      },
      abort: async () => this.#next?.abort(),
      renewTickets: (secret) => this.#running.renewTickets(secret),
      lookAtAccounts: () => this.#running.lookAtAccounts(),
      figures: () => this.#running.figures(),
      stop: () => this.#running.stop(),
      hurry: () => this.#running.hurry(),
    });
  }

  /** Takes a message of the supervisor. */
  receive(message: unknown): void {
    this.#calls.receive(message);
  }

  /** The supervisor is gone: nobody would start this node again. Cuts what is under way. */
  async end(): Promise<void> {
    this.#calls.close('The supervisor is gone.');
    this.#server?.hurry();
    await this.#server?.stop();
  }

  /** Puts all events so far on disk, before a fault ends the process. */
  flushNow(): void {
    this.#server?.flushNow();
  }

  get #running(): Server {
    if (!this.#server) throw new ServiceError('unavailable', 'The node has not started.');
    return this.#server;
  }

  async #start(setup: NodeSetup): Promise<StartedNode> {
    const { clock, makeLog, dropPrivileges } = this.#surroundings;
    const log = makeLog(setup);
    for (const [path, bytes] of setup.files) readAsRoot.set(path, bytes);
    onOldFile((path) => log.warn('a file that only root may read is taken as it was at the start', { path }));
    const supervisor = {
      setup,
      figures: () => this.#calls.call('figures'),
      reload: () => this.#calls.call('reload'),
      accountsWritten: () => this.#calls.call('accountsWritten'),
    };
    const { configPath: path } = setup;
    // The supervisor reads it for all nodes, and logs what is amiss.
    const file = path === undefined ? {} : { file: { path, env: process.env, textOf: () => '' } };
    this.#server = new Server(receivedConfig(setup.loaded), { clock, log, supervisor, ...file });
    await this.#server.start();
    dropPrivileges(setup.loaded.config.server, folderOfNode(setup.dataFolderPath, setup.number), log);
    return { listening: this.#server.listening(), files: readAsRoot };
  }
}
