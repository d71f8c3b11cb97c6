// Workloads that are run on several servers, round by round, so that a busy moment of the machine hits all of them.
import { median } from './machine.mjs';
import { cell, ratio, table } from './table.mjs';

/** What the rounds gave, by workload and server. */
export class Rounds {
  #rounds;
  #only;
  #isWarm;
  #results = new Map();
  /** Rounds that failed, and why. */
  faults = [];

  /** @param options.rounds how often @param options.only text that a workload's name has @param options.isWarm whether to leave out the round that fills caches */
  constructor({ rounds, only = '', isWarm = false }) {
    this.#rounds = rounds;
    this.#only = only.toLowerCase();
    this.#isWarm = isWarm;
  }

  /**
   * Runs one workload on the servers that are there. A round that fails is said, and leaves a gap.
   *
   * @param on servers; undefined where one is not installed @param action gives `value`, and `cpuUs` or `cpuS`
   */
  async measure(workload, unit, on, action) {
    if (!workload.toLowerCase().includes(this.#only)) return;
    const servers = on.filter((server) => server !== undefined);
    const runs = new Map(servers.map(({ name }) => [name, []]));
    this.#results.set(workload, { unit, runs });
    for (let round = this.#isWarm ? 1 : 0; round <= this.#rounds; round++) {
      for (const server of servers) {
        const one = await action(server).catch((error) => ({ fault: error.message }));
        if (one.fault !== undefined)
          this.#note(`${workload}, ${server.name}, ${round > 0 ? `round ${round}` : 'first round'}: ${one.fault}`);
        // The first round fills caches.
        if (round > 0) runs.get(server.name).push(one);
      }
    }
    for (const [name, one] of runs) console.error(`${workload}: ${name} ${cell(one)} ${unit}`);
  }

  #note(fault) {
    this.faults.push(fault);
    console.error(`failed: ${fault}`);
  }

  /** The median of a server's figures; undefined where it has none. `member`: `value`, `cpuUs` or `cpuS`. */
  median(workload, server, member = 'value') {
    const values = (this.#runs(workload, server) ?? []).flatMap((run) => run[member] ?? []);
    return values.length > 0 ? median(values) : undefined;
  }

  /** The median of one server's figures to those of another, round by round; undefined where one of them has none. `member`: `value`, `cpuUs` or `cpuS`. */
  ratio(workload, mine, theirs, member = 'value') {
    const [mineRuns, theirRuns] = [mine, theirs].map((server) => this.#runs(workload, server));
    return mineRuns && theirRuns && ratio(mineRuns, theirRuns, member);
  }

  #runs(workload, server) {
    return server && this.#results.get(workload)?.runs.get(server.name);
  }

  /** Lines about what one server did for each that another did, the build of a commit: figures, and CPU where it was measured. */
  comparison(mine, theirs, commit) {
    const ratioOf = (workload, member) => this.ratio(workload, { name: mine }, { name: theirs }, member)?.toFixed(2) ?? '–';
    const rows = [...this.#results.keys()].map((workload) => [
      workload,
      ...['value', 'cpuUs', 'cpuS'].map((member) => ratioOf(workload, member)),
    ]);
    return [`This build for each of ${commit}:`, '', table(['workload', 'figure', 'CPU each', 'CPU a GiB'], rows)];
  }

  /** A table of all figures: a row for each workload, a column for each server that was measured. */
  table() {
    const names = [...new Set([...this.#results.values()].flatMap(({ runs }) => [...runs.keys()]))];
    const rows = [...this.#results].map(([workload, { unit, runs }]) => [
      `${workload}, ${unit}`,
      ...names.map((name) => cell(runs.get(name))),
    ]);
    return table(['workload', ...names], rows);
  }
}
