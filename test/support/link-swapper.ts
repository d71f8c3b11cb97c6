import { Worker } from 'node:worker_threads';

// From a thread of its own, so that it comes between any two system calls of the service.
const swap = `
const { renameSync, symlinkSync, unlinkSync } = require('node:fs');
const { folder, aside, outside, durationMs } = require('node:worker_threads').workerData;
const end = Date.now() + durationMs;
while (Date.now() < end) {
  renameSync(folder, aside);
  symlinkSync(outside, folder);
  unlinkSync(folder);
  renameSync(aside, folder);
}
`;

/** What is swapped. */
export interface Swapping {
  folder: string;
  /** Where the folder is while the link has its name. */
  aside: string;
  /** Where the link leads. */
  outside: string;
  durationMs: number;
}

/** Swaps a folder and a link that leads outside as fast as it can, for some time. @returns whether it still does */
export function swapForLink(swapping: Swapping): () => boolean {
  let isSwapping = true;
  const worker = new Worker(swap, { eval: true, workerData: swapping });
  worker.once('exit', () => {
    isSwapping = false;
  });
  return () => isSwapping;
}
