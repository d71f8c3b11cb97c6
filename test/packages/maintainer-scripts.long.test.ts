import assert from 'node:assert/strict';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type MachineCopy, machineCopy } from '../support/machine-copy.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';

/** Returns a machine with the package's unpacked files. `/mnt` contains the package's scripts and the files that `fill` makes. */
function unpacked(t: TestContext, fill: (folder: string) => void = () => {}): MachineCopy | undefined {
  for (const program of ['unshare', 'adduser']) if (!hasProgram(t, program)) return undefined;
  const folder = temporaryFolder(t);
  cpSync(join(process.env.SVC_ROOT ?? process.cwd(), 'scripts/packages/debian'), folder, { recursive: true });
  fill(folder);
  return machineCopy(t, folder);
}

const configure = 'mkdir -p /etc/svc && cp /mnt/svc.config.yaml /etc/svc/ && sh /mnt/postinst configure ""';

test('a purge removes the files of the package, but nothing on file systems that are mounted below its folders', (t) => {
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
  assert.match(stderr, /file systems that are mounted below \/var\/lib\/svc were not removed/);
});

test('only root can write to the folder in which logrotate works as root', (t) => {
  const copy = unpacked(t);
  if (!copy) return;
  const { status, stdout, stderr } = copy.run(`${configure}; stat -c "%n %a %U %G" /etc/svc /var/lib/svc /var/log/svc`);
  assert.equal(status, 0, stderr);
  assert.deepEqual(stdout.trim().split('\n').slice(-3), ['/etc/svc 750 root svc', '/var/lib/svc 700 svc svc', '/var/log/svc 750 root adm']);
});

test('after a purge, no new account gets the number of the old account, so none owns the remaining files', (t) => {
  const copy = unpacked(t);
  if (!copy) return;
  const elsewhere = 'mkdir /srv/files; touch /srv/files/a; chmod 600 /srv/files/a; chown -R svc /srv/files; ln -s /srv/files /var/lib/svc/';
  const next = 'adduser --quiet --system other; stat -c %U /srv/files/a; ls /var/lib | grep -x svc || echo gone; getent passwd svc';
  const { status, stdout, stderr } = copy.run(`${configure}; ${elsewhere}; sh /mnt/postrm purge; ${next}`);
  assert.equal(status, 0, stderr);
  assert.match(stdout, /^svc\ngone\nsvc:.*nologin\n$/);
});

test('the scripts cope with a deleted configuration, other modes, an open umask, and symbolic and hard links made by the account', (t) => {
  const copy = unpacked(t);
  if (!copy) return;
  const rights = 'stat -c "%n %a %U %G" /etc/svc /etc/svc/svc.config.yaml /var/lib/svc /var/log/svc';
  const usual = '/etc/svc 750 root svc\n/etc/svc/svc.config.yaml 640 root svc\n/var/lib/svc 700 svc svc\n/var/log/svc 750 root adm\n';
  const each = `${configure}; ${rights}; sh /mnt/postrm purge`;
  assert.equal(copy.run(`umask 0; ${each}; umask 077; ${each}`).stdout, usual.repeat(2));
  const missing = copy.run('sh /mnt/postinst configure ""; stat -c %a /etc/svc');
  assert.deepEqual([missing.status, missing.stdout], [0, '750\n'], missing.stderr);
  const stricter = 'chown root:root /etc/svc/svc.config.yaml; chmod 600 /etc/svc/svc.config.yaml; sh /mnt/postinst configure 1.0.0';
  assert.match(
    copy.run(`${configure}; ${stricter}; ${rights}`).stdout,
    /svc.config.yaml 600 root root/,
    'an upgrade changes no mode or owner',
  );
  const links = 'ln -s /etc /var/lib/svc/etc; ln /etc/hostname /var/lib/svc/hard; touch -- "/var/lib/svc/-rf"; mkdir /srv/kept';
  const moved = 'mv /var/lib/svc /srv/moved; ln -s /srv/moved /var/lib/svc';
  const left = copy.run(
    `${configure}; ${links}; sh /mnt/postrm purge; ${configure}; ${moved}; sh /mnt/postrm purge; ls /etc/passwd /etc/hostname; ls /srv`,
  );
  assert.equal(left.stdout, '/etc/hostname\n/etc/passwd\nkept\nmoved\n', left.stderr);
  const calls = [
    'postinst abort-upgrade 1',
    'postinst abort-remove',
    'prerm upgrade 2',
    'prerm failed-upgrade 1',
    'postrm upgrade 2',
    'postrm abort-install',
    'postrm disappear',
  ];
  const called = copy.run(`${configure}; ${calls.map((call) => `sh /mnt/${call}`).join('; ')}`);
  assert.equal(called.status, 0, called.stderr);
});
