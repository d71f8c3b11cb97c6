// Searches a journal, in a separate process, with code from a bundle. Prints the duration of each search and the peak memory, as JSON.
//   node journal-search.mjs '{"bundle":"search.mjs","folder":"journal","searches":{"account":{"account":["user 17"]}}}'
import { pathToFileURL } from 'node:url';
import { memoryMiB } from '../machine.mjs';

const { bundle, folder, searches } = JSON.parse(process.argv[2]);
const { newestBlocks, searchPage, systemClock } = await import(pathToFileURL(bundle).href);
const journal = { newestBlocks: (selection, before) => newestBlocks(folder, selection, before) };
const limits = { events: 100, bytes: Number.POSITIVE_INFINITY, timeMs: 600_000 };
const results = {};
for (const [name, selection] of Object.entries(searches)) {
  const began = performance.now();
  const { events, searched } = await searchPage(journal, { id: [], uuid: [], ...selection }, { limits, clock: systemClock });
  results[name] = { value: performance.now() - began, note: `${events.length} events, ${(searched.bytes / 1e6).toFixed(1)} MB` };
}
console.log(JSON.stringify({ peakMiB: memoryMiB(process.pid, 'VmHWM'), results }));
