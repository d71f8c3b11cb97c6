import { hostname } from 'node:os';
import type { Clock, Timer } from '../../lib/clock.ts';
import { isServiceError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import type { NodeBoard, ToldNode } from './node-board.ts';
import type { Answer, NodeReport, Question } from './node-messages.ts';
import type { Answerer, NodeQuestions, Request } from './node-questions.ts';

/** Interval, in milliseconds, at which a node reports to the others. */
const tellEveryMs = 2000;

/** The means by which nodes reach each other. */
export interface NodeLink {
  board: NodeBoard;
  questions: NodeQuestions;
}

/** The node that this process is. */
export interface OwnNode {
  /** The server UUID in the data folder of the node. */
  uuid: string;
  /** Name of the server in its events. */
  name: string;
  /** Returns the current state of the node. */
  report(): Promise<NodeReport>;
  /** Answers a question of another node. @throws ServiceError, which the other node receives */
  answer: Answerer;
}

/** A node with a name that distinguishes it from the others. */
export interface NamedNode extends ToldNode {
  node: string;
}

export interface Others {
  /** The other nodes, sorted by name. Running nodes come first. */
  nodes: NamedNode[];
  /** Name that distinguishes this node from the others. */
  ownName: string;
  /** Reason why the other nodes cannot be seen; empty if they can. */
  incomplete: string;
}

/** All nodes, as this node sees them. A single process sees only itself. */
export class Installation {
  readonly own: OwnNode;
  readonly #link: NodeLink | undefined;
  readonly #log: Log;
  #timer: Timer | undefined;
  #telling = Promise.resolve();
  #next: Promise<void> | undefined;

  /** @param link undefined for a single process */
  constructor(own: OwnNode, link: NodeLink | undefined, log: Log) {
    this.own = own;
    this.#link = link;
    this.#log = log;
  }

  /** Starts to report the state of this node to the others, and to answer their questions. */
  begin(clock: Clock): void {
    if (!this.#link) return;
    this.#link.questions.begin(this.own.uuid, this.own.answer);
    this.#timer = clock.every(tellEveryMs, () => void this.tell());
    void this.tell();
  }

  /** Reports the current state of this node to the others. Never throws, because the report is repeated soon. */
  tell(): Promise<void> {
    // A report that is being sent can be outdated already, so another report follows.
    this.#next ??= this.#telling.then(() => {
      this.#next = undefined;
      this.#telling = this.#tell();
      return this.#telling;
    });
    return this.#next;
  }

  /** Ends the reports, so that the other nodes no longer see this node. */
  async end(): Promise<void> {
    this.#timer?.cancel();
    this.#link?.questions.end();
    await (this.#next ?? this.#telling);
    await this.#link?.board.leave(this.own.uuid).catch(() => {});
  }

  /** Returns the other nodes, within two seconds. */
  async others(): Promise<Others> {
    const { name: ownName, uuid: ownUuid } = this.own;
    if (!this.#link) return { nodes: [], ownName, incomplete: '' };
    const { board } = this.#link;
    try {
      const found = (await board.read()).filter(({ uuid }) => uuid !== ownUuid);
      const named = found.map(({ uuid, report }) => ({ uuid, name: report.name, host: report.host }));
      const names = nodeNames([{ uuid: ownUuid, name: ownName, host: hostname() }, ...named]);
      const nodes = found.map((told) => ({ ...told, node: names.get(told.uuid) ?? told.uuid }));
      nodes.sort((a, b) => Number(a.isGone) - Number(b.isGone) || (a.node < b.node ? -1 : 1));
      return { nodes, ownName: names.get(ownUuid) ?? ownName, incomplete: '' };
    } catch (error) {
      if (!isServiceError(error, 'unavailable')) throw error;
      return { nodes: [], ownName, incomplete: board.silence || error.message };
    }
  }

  /**
   * Asks other nodes, and waits until all have answered or the timeout has passed.
   *
   * @returns the answers by node. Nodes that did not answer are missing
   */
  async ask<Kind extends Question['kind']>(
    nodes: readonly string[],
    request: Request<Kind>,
    timeoutMs: number,
  ): Promise<Map<string, Answer<Kind>>> {
    try {
      return (await this.#link?.questions.ask(nodes, request, timeoutMs)) ?? new Map();
    } catch (error) {
      if (!isServiceError(error, 'unavailable')) throw error;
      return new Map();
    }
  }

  async #tell(): Promise<void> {
    const board = this.#link?.board;
    if (board?.silence !== '') return;
    try {
      await board.tell(this.own.uuid, await this.own.report());
    } catch (error) {
      if (!isServiceError(error, 'unavailable'))
        this.#log.warn('the report about this node could not be sent to the others', { reason: error });
    }
  }
}

/** Returns distinct names of nodes. They are the configured names, with a suffix if several nodes have the same name. */
export function nodeNames(nodes: readonly { uuid: string; name: string; host: string }[]): Map<string, string> {
  const isOnly = (one: (node: (typeof nodes)[number]) => string, node: (typeof nodes)[number]) =>
    nodes.filter((other) => one(other) === one(node)).length === 1;
  const byName = ({ name }: { name: string }) => name;
  const byHost = ({ name, host }: { name: string; host: string }) => `${name} (${host})`;
  return new Map(
    nodes.map((node) => {
      const name = isOnly(byName, node) ? byName(node) : isOnly(byHost, node) ? byHost(node) : `${node.name} (${node.uuid.slice(0, 8)})`;
      return [node.uuid, name];
    }),
  );
}
