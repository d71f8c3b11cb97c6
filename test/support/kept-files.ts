import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { type Clock, systemClock } from '../../src/lib/clock.ts';

// svc trusts only some file systems to report every change, so from here on this process has its temporary folders on disk.
process.env.TMPDIR = process.env.SVC_TEST_DISK ?? tmpdir();

/** A clock that is ahead of the file system's clock. So for the cache of small files, every file has been unchanged for some time. */
export const clockAhead: Clock = { ...systemClock, nowMs: () => Date.now() + 60_000 };

/** Options of a test in which the service must keep files of the temporary folder in memory. */
export const whereFilesAreKept = {
  skip: [0xef53, 0x58465342, 0x9123683e].includes(statfsSync(tmpdir()).type)
    ? false
    : 'needs ext4, XFS or Btrfs below the temporary folder',
};

/** Resolution of change times in older kernels, in milliseconds. Two changes that are further apart have different change times. */
export const clockGrainMs = 25;
