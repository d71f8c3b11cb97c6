import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { type Clock, systemClock } from '../../src/lib/clock.ts';

// Only some file systems report every change, so the temporary folders of this process are on disk.
process.env.TMPDIR = process.env.SVC_TEST_DISK ?? tmpdir();

/** A clock ahead of the file system's. For the cache of small files, every file has been unchanged for some time. */
export const clockAhead: Clock = { ...systemClock, nowMs: () => Date.now() + 60_000 };

/** Options of a test in which the service must keep files in memory. */
export const whereFilesAreKept = {
  skip: [0xef53, 0x58465342, 0x9123683e].includes(statfsSync(tmpdir()).type)
    ? false
    : 'needs ext4, XFS or Btrfs below the temporary folder',
};

/** Resolution of change times in older kernels, in milliseconds. */
export const clockGrainMs = 25;
