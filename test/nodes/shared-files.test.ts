import { sharedFilesContract } from '../contracts/shared-files.ts';
import { temporaryFolder } from '../support/temp.ts';

sharedFilesContract('one file system', (t) => {
  const folder = temporaryFolder(t);
  return { here: folder, there: folder };
});
