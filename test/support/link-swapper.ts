import { Worker } from 'node:worker_threads';

// Runs in a separate thread, so that a swap can happen between any two system calls of the service.
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

export interface Swapping {
  folder: string;
  /** Path of the folder while the symlink has the folder's name. */
  aside: string;
  /** Target of the symlink. */
  outside: string;
  durationMs: number;
}

/**
 * For some time, swaps a folder and a symlink that leads outside, as fast as possible.
 *
 * @returns a function that returns whether they are still being swapped
 */
export function swapForLink(swapping: Swapping): () => boolean {
  let isSwapping = true;
  const worker = new Worker(swap, { eval: true, workerData: swapping });
  worker.once('exit', () => {
    isSwapping = false;
  });
  return () => isSwapping;
}
