import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { hasRegressScripts, regressScript, startRegress } from '../support/openssh-regress.ts';

// Those that are not here have other servers as their subject: options of OpenSSH's own (sftp-chroot), or ssh.com's (ssh-com-sftp).
test("OpenSSH's own tests of sftp find nothing but that there are no links", async (t) => {
  if (!hasRegressScripts(t)) return;
  const run = await startRegress(t, randomBytes(4_000));
  const noLinks = ['missing file after ln', 'created file is not equal after ln', 'missing file after ln -s'];
  assert.deepEqual(await run('sftp-cmds.sh'), noLinks);
  for (const script of ['sftp-badcmds.sh', 'sftp-batch.sh', 'sftp-uri.sh']) assert.deepEqual(await run(script), [], script);
});

test("OpenSSH's own tests of sftp and scp with a file that takes many requests", async (t) => {
  if (!hasRegressScripts(t)) return;
  const run = await startRegress(t, randomBytes(70_000));
  for (const script of ['sftp.sh', 'sftp-glob.sh', 'scp.sh', 'scp3.sh', 'scp-uri.sh']) assert.deepEqual(await run(script), [], script);
});

/** What an account has to be allowed for requests of SFTP: the right, and the requests that together need it. */
const rights: Record<string, string[]> = {
  'allow-read': ['open', 'read'],
  'allow-write': ['open', 'write'],
  'allow-list': ['stat'],
  'allow-set-attributes': ['setstat'],
  'allow-delete-file': ['remove'],
  'allow-create-folder': ['mkdir'],
  'allow-delete-folder': ['rmdir'],
  'allow-rename': ['rename'],
};

test("OpenSSH's own tests of what an account may do", async (t) => {
  if (!hasRegressScripts(t)) return;
  const permissions: Record<string, string[]> = {};
  const allow = (options: string, isAllowed: (right: string, requests: readonly string[]) => boolean) => {
    permissions[options] = Object.keys(rights).filter((right) => isAllowed(right, rights[right] as string[]));
  };
  allow('-R', (right) => ['allow-read', 'allow-list'].includes(right));
  for (const [, one = '', others = ''] of regressScript('sftp-perm.sh').matchAll(/^perm_test \\\n\t"(.*)" \\\n\t"(.*)"/gm)) {
    allow(`-P${one}`, (right, requests) => !requests.includes(one) && !(right === 'allow-list' && ['opendir', 'readdir'].includes(one)));
    for (const only of [`${one},${others}`, others])
      allow(`-p${only}`, (_right, requests) => requests.every((request) => only.split(',').includes(request)));
  }
  const run = await startRegress(t, randomBytes(4_000), permissions);
  // There are no links; who may see a file may ask for its attributes and the space; who may list does not need a right for each half of it.
  const ofNoRight = /symlink|hardlink|lstat|statvfs|^no whitelist (opendir|readdir) succeeded$/;
  const complaints = await run('sftp-perm.sh');
  assert.ok(complaints.includes('plain symlink failed'), 'the script ran');
  assert.deepEqual(
    complaints.filter((complaint) => !ofNoRight.test(complaint)),
    [],
  );
});
