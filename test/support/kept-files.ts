import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { type Clock, systemClock } from '../../src/lib/clock.ts';

// Only some file systems are trusted to report every change, so from here on this process has its folders on the disk.
process.env.TMPDIR = process.env.SVC_TEST_DISK ?? tmpdir();

/** A clock that runs ahead of the file system's clock. The cache of small files therefore sees every file as unchanged for some time. */
export const clockAhead: Clock = { ...systemClock, nowMs: () => Date.now() + 60_000 };

/** Options of a test that needs the service to keep temporary files in memory. */
export const whereFilesAreKept = {
  skip: [0xef53, 0x58465342, 0x9123683e].includes(statfsSync(tmpdir()).type)
    ? false
    : 'needs ext4, XFS or Btrfs below the temporary folder',
};

/** Resolution of change times in older kernels, in milliseconds. A change after this time has a different change time. */
export const clockGrainMs = 25;
