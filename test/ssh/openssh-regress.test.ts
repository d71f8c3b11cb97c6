import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { hasRegressScripts, startRegress } from '../support/openssh-regress.ts';

// Those that are not here or in the long run have other servers as their subject: options of OpenSSH's own (sftp-chroot), or ssh.com's (ssh-com-sftp).
test("OpenSSH's own tests of sftp find nothing but that there are no links", async (t) => {
  if (!hasRegressScripts(t)) return;
  const run = await startRegress(t, randomBytes(4_000));
  const noLinks = ['missing file after ln', 'created file is not equal after ln', 'missing file after ln -s'];
  assert.deepEqual(await run('sftp-cmds.sh'), noLinks);
  for (const script of ['sftp-badcmds.sh', 'sftp-batch.sh', 'sftp-uri.sh']) assert.deepEqual(await run(script), [], script);
});
