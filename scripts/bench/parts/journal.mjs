// Measures searches of a journal of ten million events (5 GB, 1,000 accounts, 30 days): the time for the first page of 100 events, the
// bytes that are read for it, and the memory. Also measures the verification of the whole journal. First it creates the journal with
// summaries and checkpoints, which takes minutes.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash, generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';
import { writeJournal } from '../support/webhook-project.mjs';

const accounts = 1000;
const days = 30;
const firstS = 1_760_000_000;
const dayS = 86_400;
const serverJson = '"component":{"uuid":"web","type":"https","name":"web"},"server":{"uuid":"9d0c","type":"server","name":"bench"}';
const scripts = {
  search: new URL('../support/processes/journal-search.mjs', import.meta.url).pathname,
  verify: new URL('../support/processes/journal-verify.mjs', import.meta.url).pathname,
};

const checkpointsOfDays = days * 1440;

export default function journal({ isSmoke, folder }) {
  const [events, fileBytes] = isSmoke ? [100_000, 8 * 2 ** 20] : [10_000_000, 64 * 2 ** 20];
  const stepS = (days * dayS) / events;
  const bundle = join(folder, 'search.mjs');
  const journalFolder = join(folder, 'journal');

  const searches = {
    'newest events': {},
    'account, within one day (three weeks ago)': {
      account: ['user 17'],
      since: (firstS + 9 * dayS) * 1000,
      until: (firstS + 10 * dayS) * 1000,
    },
    account: { account: ['user 17'] },
    'path of one event, early in the journal': { path: [pathOf(Math.floor(events / 10))] },
    'request ID': { requestId: [`request-${Math.floor(events / 5)}`] },
    'address without events': { address: ['203.0.113.200'] },
    'text that is in many events': { text: 'uploaded' },
    'text without a match': { text: 'no such text' },
  };
  const memory = 'memory of the process at its peak';
  const verification = 'verification of all of it';
  const verifying = 'memory of the verification at its peak';
  const ask = (name, question) =>
    JSON.parse(execFileSync(process.execPath, [scripts[name], JSON.stringify(question)], { encoding: 'utf8' }));

  return {
    load: `${events.toLocaleString('en')} events`,
    each: 'time until the first page of 100 events, and bytes that were read for it',
    isWarm: true,
    async fill() {
      const contents = `export { newestBlocks } from './selective-reader.ts'; export { searchPage } from './search.ts'; export { summarise } from './summariser.ts';
        export { listSegments } from '../segments.ts'; export { verifyJournal } from '../verify.ts';
        export { checkpointsPath, keyName, signCheckpoint } from '../checkpoints.ts'; export { systemClock } from '../../../lib/clock.ts';`;
      const stdin = { contents, resolveDir: 'src/events/journal/search', loader: 'ts' };
      buildSync({ stdin, outfile: bundle, bundle: true, platform: 'node', format: 'esm', logLevel: 'error' });
      await make(journalFolder, await import(pathToFileURL(bundle).href));
    },
    workloads: [
      {
        figures: { ...Object.fromEntries(Object.keys(searches).map((name) => [name, 'ms'])), [memory]: 'MiB' },
        on: () => [{ name: 'svc' }],
        async action() {
          const { peakMiB, results } = ask('search', { bundle, folder: journalFolder, searches });
          return { ...results, [memory]: { value: peakMiB } };
        },
      },
      {
        figures: { [verification]: 'MB/s', [verifying]: 'MiB' },
        on: () => [{ name: 'svc' }],
        async action() {
          const { outcome, fault, bytes, checkpoints, seconds, cpuSeconds, peakMiB } = ask('verify', { bundle, folder: journalFolder });
          if (outcome !== 'whole') throw new Error(`The journal is ${outcome}: ${JSON.stringify(fault)}`);
          const note = `${checkpoints} checkpoints, ${seconds.toFixed(1)} s, ${cpuSeconds.toFixed(1)} s of CPU`;
          return { [verification]: { value: bytes / 1e6 / seconds, note }, [verifying]: { value: peakMiB } };
        },
      },
    ],
  };

  async function make(folder, { summarise, listSegments, ...evidence }) {
    const began = performance.now();
    writeJournal(folder, events, eventJson, fileBytes);
    console.error(`made in ${((performance.now() - began) / 1000).toFixed(0)} s`);
    const cpu = process.cpuUsage();
    for (const segment of listSegments(folder).slice(0, -1)) await summarise(segment, async () => {});
    const { user, system } = process.cpuUsage(cpu);
    console.error(`summarised with ${((user + system) / events).toFixed(2)} µs of CPU an event`);
    writeCheckpoints(folder, listSegments(folder), evidence);
    // Data that is still being written to the disk would slow the searches.
    spawnSync('sync');
  }

  /** Returns an event of the journal. Each event has its own file, and one of 1,000 accounts. */
  function eventJson(index) {
    const time = (firstS + index * stepS).toFixed(6);
    const account = (Math.imul(index, 2_654_435_761) >>> 0) % accounts;
    const path = pathOf(index);
    return `{"id":"40017","uuid":"${hex(index)}-0000-4000-8000-000000000000","message":"The file \\"${path}\\" was uploaded.","timestamp":{"timestamp":"${time}","cwa_14051":"2025-10-09 12:00:00"},"data":{"path":"${path}","file_name":"${index}.pdf","total_write":${index},"request_id":"request-${index >>> 1}"},"account":{"uuid":"account-${account}","name":"user ${account}","peer":{"address":"198.51.${account % 250}.${index % 250}","port":50000,"protocol":"TCP","family":"IPv4"}},${serverJson}}\n`;
  }
}

function writeCheckpoints(folder, segments, { checkpointsPath, keyName, signCheckpoint }) {
  const { privateKey } = generateKeyPairSync('ed25519');
  const key = keyName(privateKey);
  const each = Math.ceil(checkpointsOfDays / segments.length);
  const lines = [];
  let previous = '';
  for (const { number: segment, path } of segments) {
    const bytes = readFileSync(path);
    for (let from = 0; from < bytes.length; ) {
      const end = bytes.indexOf(10, from + Math.ceil(bytes.length / each));
      const position = end < 0 ? bytes.length : end + 1;
      const hash = createHash('sha256').update(previous).update(bytes.subarray(from, position)).digest('hex');
      const time = new Date((firstS + (lines.length * days * dayS) / checkpointsOfDays) * 1000).toISOString();
      lines.push(JSON.stringify(signCheckpoint({ segment, position, hash, previous, time, key }, privateKey)));
      [previous, from] = [hash, position];
    }
  }
  writeFileSync(checkpointsPath(folder), `${lines.join('\n')}\n`);
}

function pathOf(index) {
  return `/in/${Math.floor(index / 1000)}/${index}.pdf`;
}

function hex(index) {
  return index.toString(16).padStart(8, '0');
}
