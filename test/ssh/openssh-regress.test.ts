import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { hasRegressScripts, startRegress } from '../support/openssh-regress.ts';

// The tests of OpenSSH for its sftp that are not here or in the long run have options of its own server as their subject (sftp-chroot), or a
// server of others (ssh-com-sftp).
test("OpenSSH's own tests of sftp find nothing but that there are no links", async (t) => {
  if (!hasRegressScripts(t)) return;
  const run = await startRegress(t, randomBytes(1_500));
  const noLinks = ['missing file after ln', 'created file is not equal after ln', 'missing file after ln -s'];
  assert.deepEqual(await run('sftp-cmds.sh'), noLinks);
  for (const script of ['sftp.sh', 'sftp-badcmds.sh', 'sftp-batch.sh', 'sftp-glob.sh', 'sftp-uri.sh'])
    assert.deepEqual(await run(script), [], script);
});
