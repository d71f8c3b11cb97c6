// Runs workloads on several servers in alternating rounds, so that a busy moment of the machine affects all servers.
import { cell, ratio, spread, table } from './table.mjs';

/** The results of the rounds, by workload and server. */
export class Rounds {
  #rounds;
  #isWarm;
  #results = new Map();
  faults = [];

  /** @param options.rounds number of rounds @param options.isWarm whether to omit the extra first round, which only fills caches */
  constructor({ rounds, isWarm = false }) {
    this.#rounds = rounds;
    this.#isWarm = isWarm;
  }

  /**
   * Runs one workload on the servers. If a round fails, it is reported, and its figure is missing.
   *
   * @param figures units of the resulting figures, by name
   * @param on the servers
   * @param action returns `value`, and `cpuUs` or `cpuS`, for each figure; if there is only one figure, it returns them directly
   */
  async measure(figures, on, action) {
    const names = Object.keys(figures);
    for (const name of names) this.#results.set(name, { unit: figures[name], runs: new Map(on.map((server) => [server.name, []])) });
    for (let round = this.#isWarm ? 1 : 0; round <= this.#rounds; round++) {
      for (const server of on) {
        const found = await action(server).catch((error) => ({ fault: error.message.split('\n')[0] }));
        if (found.fault !== undefined)
          this.faults.push(`${names[0]}, ${server.name}, ${round > 0 ? `round ${round}` : 'first round'}: ${found.fault}`);
        // The first round fills caches.
        if (round === 0) continue;
        for (const name of names) {
          const one = names.length === 1 || found.fault !== undefined ? found : found[name];
          if (one !== undefined) this.#results.get(name).runs.get(server.name).push(one);
        }
      }
    }
    for (const name of names)
      for (const [server, runs] of this.#results.get(name).runs)
        console.error(`${name}: ${server} ${cell(runs)} ${spread(runs)} ${figures[name]}`);
  }

  /**
   * Returns the median, over the rounds, of the ratio of one server's figure to another's; undefined if one of them has no figures.
   * `member` is `value`, `cpuUs` or `cpuS`.
   */
  ratio(workload, mine, theirs, member = 'value') {
    const runs = this.#results.get(workload).runs;
    const [mineRuns, theirRuns] = [mine, theirs].map((server) => runs.get(server.name));
    return mineRuns && theirRuns && ratio(mineRuns, theirRuns, member);
  }

  /** Returns lines that compare a server with the build of a commit: the figures and, where it was measured, the CPU time. */
  comparison(mine, theirs, commit) {
    const ratioOf = (workload, member) => this.ratio(workload, { name: mine }, { name: theirs }, member)?.toFixed(2) ?? '–';
    const rows = [...this.#results.keys()].map((workload) => [
      workload,
      ...['value', 'cpuUs', 'cpuS'].map((member) => ratioOf(workload, member)),
    ]);
    return [`This build relative to ${commit}:`, '', table(['workload', 'figure', 'CPU per request', 'CPU per GiB'], rows)];
  }

  /** Returns a table of all figures, with a row for each workload and a column for each measured server. */
  table() {
    const names = [...new Set([...this.#results.values()].flatMap(({ runs }) => [...runs.keys()]))];
    const rows = [...this.#results].map(([workload, { unit, runs }]) => [
      `${workload}, ${unit}`,
      ...names.map((name) => cell(runs.get(name))),
    ]);
    return table(['workload', ...names], rows);
  }
}
