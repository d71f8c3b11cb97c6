// Verifies a journal, in a separate process, with code from a bundle. Prints the result, the duration and the peak memory, as JSON.
//   node journal-verify.mjs '{"bundle":"search.mjs","folder":"journal"}'
import { pathToFileURL } from 'node:url';
import { memoryMiB } from '../machine.mjs';

const { bundle, folder } = JSON.parse(process.argv[2]);
const { verifyJournal } = await import(pathToFileURL(bundle).href);
const began = performance.now();
const cpu = process.cpuUsage();
const { outcome, fault, bytes, checkpoints } = await verifyJournal({ folder });
const seconds = (performance.now() - began) / 1000;
const { user, system } = process.cpuUsage(cpu);
const cpuSeconds = (user + system) / 1e6;
console.log(JSON.stringify({ outcome, fault, bytes, checkpoints, seconds, cpuSeconds, peakMiB: memoryMiB(process.pid, 'VmHWM') }));
