import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { runProgram } from '../support/program.ts';
import { hasPackage } from '../support/requires.ts';
import { makeKey, publicKey, startSsh } from '../support/ssh.ts';
import { temporaryFolder } from '../support/temp.ts';

const installed = '/usr/lib/openssh/regress';

function regressScript(name: string): string {
  return readFileSync(join(installed, name), 'utf8');
}

function hasRegressScripts(t: TestContext): boolean {
  return hasPackage(t, 'openssh-tests', installed);
}

/**
 * Starts a server for the scripts that test OpenSSH's `sftp` and `scp`.
 *
 * @param data content of the file that they copy
 * @param permissions for each list of options (such as `-R`) with which scripts start `sftp-server`: the permissions of the account that
 *   stands for such a server
 * @returns a function that runs a script and returns the failures
 */
async function startRegress(
  t: TestContext,
  data: Buffer,
  permissions: Record<string, readonly string[]> = {},
): Promise<(script: string) => Promise<string[]>> {
  const [keys, user] = [temporaryFolder(t), userInfo().username];
  const key = makeKey(keys, 'ssh-ed25519');
  const account = { ssh_keys: [publicKey(key)] };
  const restricted = Object.entries(permissions).map(([options, list]) => [`as${options}`, { ...account, permissions: [list] }]);
  const server = await startSsh(t, { host_key_paths: [key] }, { accounts: { [user]: account, ...Object.fromEntries(restricted) } });
  const folder = server.clientFolder;
  // Scripts use the same path at both ends.
  const obj = join(folder, 'obj');
  mkdirSync(join(server.home, obj), { recursive: true });
  symlinkSync(join(server.home, obj), obj);
  for (const name of ['ssh-ed25519', 'ssh-ed25519.pub']) copyFileSync(join(keys, name), join(obj, name));
  // The scripts copy files that match `/bin/l*` on either side, and also compare files in their working directory.
  const bin = join(server.home, 'bin');
  mkdirSync(bin);
  for (const name of ['ln', 'ls']) copyFileSync(join('/bin', name), join(bin, name));
  writeFileSync(join(folder, 'data'), data);
  const program = (name: string, ...lines: string[]) => {
    writeFileSync(join(folder, name), `#!/bin/sh\n${lines.join('\n')}\n`);
    chmodSync(join(folder, name), 0o700);
    return join(folder, name);
  };
  const options = ['BatchMode=yes', 'StrictHostKeyChecking=no', `UserKnownHostsFile=${join(folder, 'known')}`, 'LogLevel=ERROR'];
  const env = {
    TEST_SHELL: 'sh',
    TEST_SSH_PORT: String(server.sshPort),
    TEST_SSH_SSH: program('ssh', 'case "$*" in *"-Q key-plain") echo ssh-ed25519;; *) exec ssh "$@";; esac'),
    // The server is already running. This program only stands for the process that the scripts end.
    TEST_SSH_SSHD: program(
      'sshd',
      'case "$*" in *" -E"*) ;; *) exit 0;; esac',
      `sh -c 'trap "rm ${obj}/pidfile; kill \\$!; exit" TERM; sleep 60 & echo $$ > ${obj}/pidfile; wait' > /dev/null 2>&1 &`,
    ),
    TEST_SSH_SFTPSERVER: program(
      'sftp-server',
      `user=${user}; [ "$1" = -el ] && [ "$3" ] && user=as$3$4`,
      `exec ssh -F /dev/null -p ${server.sshPort} -i ${key} ${options.map((option) => `-o ${option}`).join(' ')} $user@127.0.0.1 -s sftp`,
    ),
    TEST_SSH_SSHAGENT: join(folder, 'data'),
    TEST_SSH_UNSAFE_PERMISSIONS: '1',
  };
  return async (script) => {
    const failures = join(obj, 'failed-regress.log');
    rmSync(failures, { force: true });
    // The scp tests run as copies without the mode for the older protocol, because this mode does not use the server.
    for (const name of [script, 'scp-ssh-wrapper.sh'])
      writeFileSync(join(folder, name), regressScript(name).replace('for mode in scp sftp', 'for mode in sftp'));
    const args = [join(installed, 'test-exec.sh'), obj, join(folder, script)];
    const { code, output } = await runProgram('sh', args, { cwd: bin, env, timeoutMs: 240_000 });
    const logged = existsSync(failures) ? readFileSync(failures, 'utf8').split('\n') : [];
    const failed = output.split('\n').filter((line) => logged.includes(`FAIL: ${line}`));
    const isToItsEnd = new RegExp(`^${code === 0 ? 'ok' : 'failed'} `, 'm').test(output) && !output.includes('SKIPPED');
    return isToItsEnd ? failed : [...failed, output];
  };
}

// The omitted scripts test features of other servers: options of OpenSSH (sftp-chroot), or of ssh.com (ssh-com-sftp).
test('the tests of OpenSSH for sftp find only that symbolic and hard links are not supported', async (t) => {
  if (!hasRegressScripts(t)) return;
  const run = await startRegress(t, randomBytes(4_000));
  const noLinks = ['missing file after ln', 'created file is not equal after ln', 'missing file after ln -s'];
  assert.deepEqual(await run('sftp-cmds.sh'), noLinks);
  for (const script of ['sftp-badcmds.sh', 'sftp-batch.sh', 'sftp-uri.sh']) assert.deepEqual(await run(script), [], script);
});

test('the tests of OpenSSH for sftp and scp pass with a file that needs many requests', async (t) => {
  if (!hasRegressScripts(t)) return;
  const run = await startRegress(t, randomBytes(70_000));
  for (const script of ['sftp.sh', 'sftp-glob.sh', 'scp.sh', 'scp3.sh', 'scp-uri.sh']) assert.deepEqual(await run(script), [], script);
});

/** For each permission: the requests that need it, in the names of OpenSSH. */
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

test('the tests of OpenSSH for permissions pass, except those for links and for requests that share a permission', async (t) => {
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
  // Links are not supported. Accounts that see a file may use lstat and statvfs. The permission to list covers opendir and readdir.
  const ofNoRight = /symlink|hardlink|lstat|statvfs|^no whitelist (opendir|readdir) succeeded$/;
  const complaints = await run('sftp-perm.sh');
  assert.ok(complaints.includes('plain symlink failed'), 'the script ran');
  assert.deepEqual(
    complaints.filter((complaint) => !ofNoRight.test(complaint)),
    [],
  );
});
