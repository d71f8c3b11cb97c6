import assert from 'node:assert/strict';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type MachineCopy, machineCopy } from '../support/machine-copy.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';

/** A machine on which the package's files were just unpacked; its scripts and what `fill` makes are in `/mnt`. */
function unpacked(t: TestContext, fill: (folder: string) => void = () => {}): MachineCopy | undefined {
  for (const program of ['unshare', 'adduser', 'deluser']) if (!hasProgram(t, program)) return undefined;
  const folder = temporaryFolder(t);
  cpSync(join(process.env.SVC_ROOT ?? process.cwd(), 'scripts/packages/debian'), folder, { recursive: true });
  fill(folder);
  return machineCopy(t, folder);
}

const configure = 'mkdir -p /etc/svc && cp /mnt/svc.config.yaml /etc/svc/ && sh /mnt/postinst configure ""';

test('a purge removes what is of the package, and nothing of what is mounted there', (t) => {
  const copy = unpacked(t, (folder) => {
    mkdirSync(join(folder, 'shared/alice'), { recursive: true });
    writeFileSync(join(folder, 'shared/alice/kept'), 'of several machines');
  });
  if (!copy) return;
  const mounted =
    'mkdir -p /var/lib/svc/files /var/lib/svc/data/x; mount -t tmpfs none /var/lib/svc/files; cp -r /mnt/shared/alice /var/lib/svc/files';
  const purge = 'sh /mnt/postrm purge; cat /var/lib/svc/files/alice/kept; ls -d /etc/svc /var/log/svc /var/lib/svc/data || true';
  const { status, stdout, stderr } = copy.run(`${configure}; ${mounted}; ${purge}`);
  assert.equal(status, 0, stderr);
  assert.equal(stdout.trim(), 'of several machines');
  assert.match(stderr, /what is mounted below \/var\/lib\/svc stays as it is/);
});

test('only root writes where logrotate works as root', (t) => {
  const copy = unpacked(t);
  if (!copy) return;
  const { status, stdout, stderr } = copy.run(`${configure}; stat -c "%n %a %U %G" /etc/svc /var/lib/svc /var/log/svc`);
  assert.equal(status, 0, stderr);
  assert.deepEqual(stdout.trim().split('\n').slice(-3), ['/etc/svc 750 root svc', '/var/lib/svc 700 svc svc', '/var/log/svc 750 root adm']);
});
