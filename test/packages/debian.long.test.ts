import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type MachineCopy, machineCopy } from '../support/machine-copy.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';

const root = process.env.SVC_ROOT ?? process.cwd();

function buildPackage(folder: string): string {
  const env = { ...process.env, DEBEMAIL: 'packages@files.org' };
  execFileSync(process.execPath, [join(root, 'scripts/packages/debian.mjs'), '--out', folder], { env, stdio: 'pipe' });
  return join(folder, readdirSync(folder).find((name) => name.endsWith('.deb')) as string);
}

/** The same package under a later version, with another line in its configuration. */
function laterVersion(folder: string, name: string): void {
  const content = join(folder, 'content');
  execFileSync('dpkg-deb', ['-R', name, content]);
  const control = join(content, 'DEBIAN/control');
  writeFileSync(control, readFileSync(control, 'utf8').replace(/^Version: .*/m, 'Version: 99.0.0-1'));
  execFileSync('dpkg-deb', ['--root-owner-group', '-Zgzip', '-z1', '-b', content, join(folder, 'later.deb')], { stdio: 'pipe' });
}

function succeeds(copy: MachineCopy, script: string): string {
  const { status, stdout, stderr } = copy.run(script);
  assert.equal(status, 0, `${script}\n${stdout}${stderr}`);
  return stdout;
}

test('the Debian package: lintian, install, serve, upgrade, remove, purge on a machine without Node.js', {
  timeout: 300_000,
}, async (t) => {
  for (const program of ['dpkg-deb', 'lintian', 'unshare', 'systemd-analyze', 'curl']) if (!hasProgram(t, program)) return;
  const folder = temporaryFolder(t);
  const built = buildPackage(folder);
  const lintian = spawnSync('lintian', ['--allow-root', '--fail-on', 'error,warning', built], { encoding: 'utf8' });
  assert.equal(lintian.status, 0, lintian.stdout);
  const copy = machineCopy(t, folder);
  if (!copy) return;
  succeeds(copy, `dpkg -i /mnt/${built.slice(folder.length + 1)}`);
  await t.test('accounts and rights', () => installed(copy));
  await t.test('it serves, as its account', () => serves(copy));
  await t.test('the unit', () => unit(copy));
  laterVersion(folder, built);
  succeeds(copy, "echo '# mine' >> /etc/svc/svc.config.yaml; chmod 0600 /etc/svc/svc.config.yaml; chown svc /etc/svc/svc.config.yaml");
  succeeds(copy, 'dpkg -i /mnt/later.deb');
  const kept = succeeds(
    copy,
    'tail -1 /etc/svc/svc.config.yaml; stat -c "%a %U" /etc/svc/svc.config.yaml; cat /var/lib/svc/files/alice/kept',
  );
  assert.equal(kept, '# mine\n600 svc\nmine');
  const removed = 'dpkg -r svc; ! command -v svc; ls /etc/svc; cat /var/lib/svc/files/alice/kept';
  assert.match(succeeds(copy, removed), /svc\.config\.yaml\nmine$/);
  succeeds(copy, 'dpkg --purge svc');
  assert.equal(copy.run('getent passwd svc; getent group svc').stdout, '');
  assert.deepEqual(
    copy.changed().filter((name) => !ofTools.test(name)),
    [],
  );
});

/** Files that dpkg and the tools of accounts write for every package. */
const ofTools =
  /^\/var\/(lib\/dpkg|log|cache)\/|^\/etc\/((passwd|group|shadow|gshadow|subuid|subgid)-?|\.pwd\.lock)$|^\/run\/(adduser|systemd\/)|^\/tmp\//;

function installed(copy: MachineCopy): void {
  const stat = 'stat -c "%n %a %U %G" /etc/svc /etc/svc/svc.config.yaml /var/lib/svc /var/log/svc /usr/bin/svc';
  assert.deepEqual(succeeds(copy, stat).trim().split('\n'), [
    '/etc/svc 750 root svc',
    '/etc/svc/svc.config.yaml 640 root svc',
    '/var/lib/svc 700 svc svc',
    '/var/log/svc 750 svc adm',
    '/usr/bin/svc 755 root root',
  ]);
  assert.match(succeeds(copy, 'getent passwd svc'), /:\/var\/lib\/svc:\/usr\/sbin\/nologin$/m);
  assert.match(succeeds(copy, 'svc --version'), /^[\d.]+ \(Node\.js [\d.]+\)\n$/);
  assert.match(succeeds(copy, 'svc --licenses'), /^Node\.js [\d.]+: /m);
  assert.match(succeeds(copy, 'zcat /usr/share/man/man1/svc.1.gz'), /^\.TH SVC 1/);
  succeeds(copy, 'bash -n /usr/share/bash-completion/completions/svc');
  succeeds(copy, 'logrotate --debug /etc/logrotate.d/svc');
}

const asSvc = (command: string) => `setpriv --reuid svc --regid svc --clear-groups env HOME=/var/lib/svc ${command}`;

function serves(copy: MachineCopy): void {
  const hash = succeeds(copy, 'printf "secret of alice\\n" | svc hash-password').trim();
  const accounts = `accounts:\\n  alice: { password: "${hash}" }\\n`;
  succeeds(copy, `printf '${accounts}' >> /etc/svc/svc.config.yaml; ${asSvc('svc validate /etc/svc/svc.config.yaml')}`);
  const script = `
    cd /var/lib/svc
    ${asSvc('svc serve --config /etc/svc/svc.config.yaml')} > /tmp/lines 2>&1 &
    server=$!
    for round in $(seq 100); do svc health --url http://127.0.0.1:9100/ready > /dev/null && break; sleep 0.1; done
    printf mine | curl -sf -u 'alice:secret of alice' -T - http://127.0.0.1:8080/home/kept
    curl -sf -u 'alice:secret of alice' http://127.0.0.1:8080/home/kept
    kill $server
    wait $server`;
  assert.equal(succeeds(copy, `ip link set lo up 2> /dev/null || true; ${script}`), 'mine');
}

function unit(copy: MachineCopy): void {
  const verified = copy.run('systemd-analyze verify /usr/lib/systemd/system/svc.service');
  assert.equal(verified.stderr.includes('svc.service:'), false, verified.stderr);
  const { stdout } = copy.run('systemd-analyze security --offline=true /usr/lib/systemd/system/svc.service');
  const exposure = Number(/exposure level for svc\.service: ([\d.]+)/.exec(stdout)?.[1]);
  assert.ok(exposure > 0 && exposure <= 2, stdout);
}

test('a package is made for no machine that has no binary', (t: TestContext) => {
  if (!hasProgram(t, 'dpkg-deb')) return;
  const folder = temporaryFolder(t);
  mkdirSync(folder, { recursive: true });
  const end = spawnSync(process.execPath, [join(root, 'scripts/packages/debian.mjs'), '--platform', 'win-x64'], { encoding: 'utf8' });
  assert.equal(end.status, 2);
  assert.match(end.stderr, /linux-x64, linux-arm64/);
});
