import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { run, start } from '../../support/child.ts';
import { runProgram } from '../../support/program.ts';
import { until } from '../../support/receiver.ts';
import { freePort } from '../../support/redis.ts';
import { hasProgram } from '../../support/requires.ts';
import { makeKey } from '../../support/ssh.ts';
import { temporaryFolder } from '../../support/temp.ts';

test('sshd and svc run side by side with one host key, and the sftp client of OpenSSH gets, puts and removes files at both', {
  timeout: 90_000,
}, async (t) => {
  if (!hasProgram(t, 'sshd') || !hasProgram(t, 'sftp')) return;
  const cwd = temporaryFolder(t);
  const { username } = userInfo();
  const [hostKey, key] = ['ssh_host_ed25519_key', 'id'].map((name) => makeKey(cwd, name)) as [string, string];
  const files = join(cwd, 'files');
  mkdirSync(join(files, 'inbox'), { recursive: true });
  writeFileSync(join(files, 'inbox/order.csv'), '1,2,3\n');
  writeFileSync(join(cwd, 'authorized_keys'), `no-pty ${readFileSync(`${key}.pub`, 'utf8')}`);
  const [oldPort, newPort] = [await freePort(), await freePort()];
  const config = `Port ${oldPort}\nListenAddress 127.0.0.1\nHostKey ${hostKey}\nPidFile none\nUsePAM no\nStrictModes no\nPermitRootLogin yes
AuthorizedKeysFile ${cwd}/authorized_keys\nSubsystem sftp internal-sftp\nForceCommand internal-sftp -d ${files}\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n`;
  writeFileSync(join(cwd, 'sshd_config'), config);
  // A passwd file in which this test's account has the UID of a person (1000), because system accounts are not imported.
  writeFileSync(join(cwd, 'passwd'), `${username}:x:1000:1000::${files}:/bin/sh\n`);
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  const sshd = spawn('/usr/sbin/sshd', ['-D', '-e', '-f', join(cwd, 'sshd_config')], { stdio: ['ignore', 'ignore', 'pipe'] });
  t.after(() => sshd.kill());
  let log = '';
  sshd.stderr.on('data', (chunk) => {
    log += chunk;
  });

  const imported = await run(t, ['import', 'openssh', 'sshd_config', 'passwd', '--port', String(newPort)], { cwd });
  assert.equal(imported.code, 0, imported.stderr);
  assert.match(readFileSync(join(cwd, 'svc.import.txt'), 'utf8'), /it starts in .*clients must name the folder/);
  const taken = await run(t, ['ssh', 'host-key', 'import', hostKey], { cwd });
  assert.equal(taken.code, 0, taken.stderr);
  const valid = await run(t, ['validate'], { cwd });
  assert.equal(valid.code, 0, valid.stderr);
  const [fingerprint = ''] = /SHA256:\S+/.exec(taken.stdout) ?? [];
  assert.ok(valid.stdout.includes(fingerprint), valid.stdout);
  assert.equal((await run(t, ['test'], { cwd })).code, 0);
  await start(t, ['serve'], { cwd }).line(/sftp listening/);
  await until('sshd listens', () => /Server listening/.test(log));

  // One line of known_hosts for both servers.
  writeFileSync(join(cwd, 'known_hosts'), `files ${readFileSync(`${hostKey}.pub`, 'utf8')}`);
  for (const port of [oldPort, newPort]) {
    const options = [
      ...['HostKeyAlias=files', 'StrictHostKeyChecking=yes', `UserKnownHostsFile=${cwd}/known_hosts`, `IdentityFile=${key}`],
      ...['IdentitiesOnly=yes', 'BatchMode=yes', `User=${username}`],
    ].flatMap((option) => ['-o', option]);
    const input = 'get inbox/order.csv back.csv\nput back.csv inbox/from-client.csv\nrm inbox/from-client.csv\n';
    const { code, output } = await runProgram('sftp', ['-F', '/dev/null', '-P', String(port), ...options, '-b', '-', '127.0.0.1'], {
      cwd,
      input,
    });
    assert.equal(code, 0, `${output}\n${log}`);
    assert.equal(readFileSync(join(cwd, 'back.csv'), 'utf8'), '1,2,3\n');
  }
});
