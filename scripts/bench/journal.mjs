// Searches of a journal of ten million events (4 GB, of 1,000 accounts, over 30 days): first pages of 100 events, what is read for them, and
// memory. The journal is made first, with its summaries, which takes some minutes.
//   node scripts/bench/journal.mjs [--rounds N] [--folder DIR] [--smoke] [--write]
//   --folder: where the journal is kept, and taken from when it is there; --write puts the table into docs/operate/performance.md
import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';
import { makeFolders, publish, readOptions, remove } from './support/benchmark.mjs';
import { machineLine, median, memoryMiB } from './support/machine.mjs';
import { table } from './support/table.mjs';

/** `search`: in a process of its own, searches with the code of a bundle. */
const { rounds, ...options } = readOptions(3, { folder: { type: 'string' }, search: { type: 'string' } });
const events = options.smoke ? 100_000 : 10_000_000;
const fileBytes = options.smoke ? 8 * 2 ** 20 : 64 * 2 ** 20;
const accounts = 1000;
const days = 30;
const firstS = 1_760_000_000;
const dayS = 86_400;
const stepS = (days * dayS) / events;
const serverJson = '"component":{"uuid":"web","type":"https","name":"web"},"server":{"uuid":"9d0c","type":"server","name":"bench"}';

const searches = {
  'newest events': {},
  'account, one day three weeks ago': { account: ['user 17'], since: (firstS + 9 * dayS) * 1000, until: (firstS + 10 * dayS) * 1000 },
  account: { account: ['user 17'] },
  'path of one event, early in the journal': { path: [pathOf(Math.floor(events / 10))] },
  'request ID': { requestId: [`request-${Math.floor(events / 5)}`] },
  'address that never came': { address: ['203.0.113.200'] },
  'text that is in many events': { text: 'uploaded' },
  'text that is nowhere': { text: 'no such text' },
};

if (options.search !== undefined) await search(options.search, options.folder);
else await measure();

async function measure() {
  const { folder: own } = makeFolders();
  const folder = options.folder ?? join(own, 'journal');
  const bundle = join(own, 'search.mjs');
  try {
    const contents = `export { newestBlocks } from './newest-blocks.ts'; export { searchPage } from './search.ts'; export { summarise } from './summarise.ts';
      export { listSegments } from '../segments.ts'; export { systemClock } from '../../../lib/clock.ts';`;
    const stdin = { contents, resolveDir: 'src/events/journal/search', loader: 'ts' };
    buildSync({ stdin, outfile: bundle, bundle: true, platform: 'node', format: 'esm', logLevel: 'error' });
    const whole = join(folder, 'whole');
    if (!existsSync(whole)) await make(folder, await import(pathToFileURL(bundle).href), whole);
    const { listSegments } = await import(pathToFileURL(bundle).href);
    const files = listSegments(folder).map(({ path }) => path);
    const journalBytes = files.reduce((sum, path) => sum + statSync(path).size, 0);
    const summaryBytes = files.slice(0, -1).reduce((sum, path) => sum + statSync(path.replace(/\.ndjson$/, '.summary')).size, 0);
    const args = [fileURLToPath(import.meta.url), '--search', bundle, '--folder', folder, ...(options.smoke ? ['--smoke'] : [])];
    const results = Array.from({ length: rounds }, () => {
      const result = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
      console.error(JSON.stringify(result));
      return result;
    });
    const rows = Object.keys(searches).map((name) => {
      const of = (member) => median(results.map((result) => result.searches[name][member]));
      return [name, of('found'), `${of('ms').toFixed(0)} ms`, `${of('cpuMs').toFixed(0)} ms`, `${(of('bytes') / 1e6).toFixed(1)} MB`];
    });
    const [moreMiB, restMiB] = ['peakMiB', 'startMiB'].map((member) => median(results.map((result) => result[member])));
    const text = `${machineLine()};\n${events.toLocaleString('en')} events, ${(journalBytes / 1e9).toFixed(2)} GB in ${files.length} files, summaries ${(summaryBytes / 1e6).toFixed(0)} MB; medians of ${rounds} ${rounds === 1 ? 'round' : 'rounds'}.\n\n${table(['first page of', 'events', 'after', 'CPU', 'read'], rows)}\n\nMemory of the process while it searches: ${restMiB.toFixed(0)} MiB before, ${moreMiB.toFixed(0)} MiB at its peak.`;
    publish('journal', text, options.write && !options.smoke);
  } finally {
    remove(own);
  }
}

/** Searches in this process, and prints what it took as JSON. */
async function search(bundle, folder) {
  const { newestBlocks, searchPage, systemClock } = await import(pathToFileURL(bundle).href);
  const journal = { newestBlocks: (selection, before) => newestBlocks(folder, selection, before) };
  const limits = { events: 100, bytes: Number.POSITIVE_INFINITY, timeMs: 600_000 };
  const startMiB = memoryMiB(process.pid);
  const results = {};
  for (const [name, selection] of Object.entries(searches)) {
    const [began, cpu] = [performance.now(), process.cpuUsage()];
    const page = await searchPage(journal, { id: [], uuid: [], ...selection }, { limits, clock: systemClock });
    const { user, system } = process.cpuUsage(cpu);
    results[name] = { found: page.events.length, ms: performance.now() - began, cpuMs: (user + system) / 1000, bytes: page.searched.bytes };
  }
  console.log(JSON.stringify({ startMiB, peakMiB: memoryMiB(process.pid, 'VmHWM'), searches: results }));
}

/** Writes the journal, and its summaries. */
async function make(folder, { summarise, listSegments }, whole) {
  mkdirSync(folder, { recursive: true });
  let [fd, number, size, lines] = [undefined, 0, 0, ''];
  const began = performance.now();
  for (let index = 0; index < events; index++) {
    lines += eventJson(index);
    if (lines.length < 2 ** 20 && index < events - 1) continue;
    if (fd === undefined || size + lines.length > fileBytes) {
      if (fd !== undefined) closeSync(fd);
      fd = openSync(join(folder, `events-${String(++number).padStart(8, '0')}.ndjson`), 'w', 0o600);
      size = 0;
    }
    size += writeSync(fd, lines, null, 'latin1');
    lines = '';
  }
  closeSync(fd);
  console.error(`made in ${((performance.now() - began) / 1000).toFixed(0)} s`);
  const cpu = process.cpuUsage();
  for (const segment of listSegments(folder).slice(0, -1)) await summarise(segment, async () => {});
  const { user, system } = process.cpuUsage(cpu);
  console.error(`summarised with ${((user + system) / events).toFixed(2)} µs of CPU an event`);
  // What is still on its way to the disk would count for the searches.
  spawnSync('sync');
  writeFileSync(whole, '');
}

/** An event as the journal has it: a file of its own, an account of 1,000. */
function eventJson(index) {
  const time = (firstS + index * stepS).toFixed(6);
  const account = (Math.imul(index, 2_654_435_761) >>> 0) % accounts;
  const path = pathOf(index);
  return `{"id":"40017","uuid":"${hex(index)}-0000-4000-8000-000000000000","message":"The file \\"${path}\\" was uploaded.","timestamp":{"timestamp":"${time}","cwa_14051":"2025-10-09 12:00:00"},"data":{"path":"${path}","file_name":"${index}.pdf","total_write":${index},"request_id":"request-${index >>> 1}"},"account":{"uuid":"account-${account}","name":"user ${account}","peer":{"address":"198.51.${account % 250}.${index % 250}","port":50000,"protocol":"TCP","family":"IPv4"}},${serverJson}}\n`;
}

function pathOf(index) {
  return `/in/${Math.floor(index / 1000)}/${index}.pdf`;
}

function hex(index) {
  return index.toString(16).padStart(8, '0');
}
