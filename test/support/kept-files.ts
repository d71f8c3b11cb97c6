import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { type Clock, systemClock } from '../../src/lib/clock.ts';

// Only some file systems are trusted to tell of every change; from here on this process has its folders on the disk.
process.env.TMPDIR = process.env.SVC_TEST_DISK ?? tmpdir();

/** A clock that goes ahead of the file system's: for the cache of small files every file has rested. */
export const clockAhead: Clock = { ...systemClock, nowMs: () => Date.now() + 60_000 };

/** Options of a test that needs temporary files to be kept in memory. */
export const whereFilesAreKept = {
  skip: [0xef53, 0x58465342, 0x9123683e].includes(statfsSync(tmpdir()).type)
    ? false
    : 'needs ext4, XFS or Btrfs below the temporary folder',
};

/** Change times of older kernels are as coarse as this, in milliseconds: what changes later has another one. */
export const clockGrainMs = 25;
