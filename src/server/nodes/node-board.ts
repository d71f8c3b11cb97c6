import type { Log } from '../../lib/log.ts';
import { maxReportBytes, type NodeReport, type NodeTexts, readReport } from './node-messages.ts';

/** Time in milliseconds without a report, after which a node counts as gone. */
const goneAfterMs = 10_000;

export interface ToldNode {
  /** The server UUID in the data folder of the node. */
  uuid: string;
  /** Age of the report in milliseconds, by the clock of Redis. */
  ageMs: number;
  isGone: boolean;
  report: NodeReport;
}

/** The reports of all nodes. */
export class NodeBoard {
  readonly #texts: NodeTexts;
  readonly #log: Log;
  /** Nodes whose last report could not be read. The log names each of these nodes once. */
  #bad = new Set<string>();

  constructor(texts: NodeTexts, log: Log) {
    this.#texts = texts;
    this.#log = log;
  }

  /** The reason why reports cannot be exchanged now; empty if they can be. */
  get silence(): string {
    return this.#texts.silence;
  }

  /** Sends a report about this node to the others. @throws ServiceError `unavailable` */
  tell(uuid: string, report: NodeReport): Promise<void> {
    return this.#texts.tell(uuid, writeReport(report));
  }

  /**
   * Returns all nodes that have a report, including this one. A report that cannot be read is omitted and logged.
   *
   * @throws ServiceError `unavailable`
   */
  async read(): Promise<ToldNode[]> {
    const bad = new Set<string>();
    const nodes = (await this.#texts.read(maxReportBytes)).flatMap(({ node: uuid, ageMs, report: text }) => {
      const report = readReport(text);
      if (!report) bad.add(uuid);
      return report ? [{ uuid, ageMs, isGone: ageMs > goneAfterMs, report }] : [];
    });
    for (const node of bad) if (!this.#bad.has(node)) this.#log.warn('the report of a node about itself cannot be read', { node });
    this.#bad = bad;
    return nodes;
  }

  /** Tells the other nodes that this node has ended. @throws ServiceError `unavailable` */
  leave(uuid: string): Promise<void> {
    return this.#texts.leave(uuid);
  }
}

/** Writes a report. If the report is too long, the transfers are omitted, because their file names can be long. */
function writeReport(report: NodeReport): string {
  const text = JSON.stringify(report);
  if (Buffer.byteLength(text) <= maxReportBytes) return text;
  return JSON.stringify({ ...report, transfers: [], transfers_left_out: report.transfers_left_out + report.transfers.length });
}
