import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type MachineCopy, machineCopy } from '../support/machine-copy.ts';
import { freePort } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';

const root = process.env.SVC_ROOT ?? process.cwd();
const operations = join(root, 'examples/operations');

function buildPackage(folder: string): string {
  const env = { ...process.env, DEBEMAIL: 'packages@files.org' };
  execFileSync(process.execPath, [join(root, 'scripts/packages/debian.mjs'), '--out', folder], { env, stdio: 'pipe' });
  return join(folder, readdirSync(folder).find((name) => name.endsWith('.deb')) as string);
}

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

test('the Debian package passes lintian, and can be installed, upgraded, removed and purged on a machine without Node.js', {
  timeout: 300_000,
}, async (t) => {
  for (const program of ['dpkg-deb', 'lintian', 'unshare', 'systemd-analyze', 'curl']) if (!hasProgram(t, program)) return;
  const folder = temporaryFolder(t);
  const built = buildPackage(folder);
  const lintian = spawnSync('lintian', ['--allow-root', '--fail-on', 'error,warning', built], { encoding: 'utf8' });
  assert.equal(lintian.status, 0, lintian.stdout);
  const copy = machineCopy(t, folder);
  if (!copy) return;
  const mounted = `/mnt/${basename(built)}`;
  await t.test('the image works, as far as it can be tested without a registry', (sub) => image(machineCopy(sub, folder), folder, mounted));
  succeeds(copy, `dpkg -i ${mounted}`);
  await t.test('the package creates the account svc, and sets owners and modes', () => installed(copy));
  await t.test('svc serves with its own account', () => serves(copy));
  await t.test('the systemd unit is valid and restrictive', () => unit(copy));
  laterVersion(folder, built);
  succeeds(copy, "echo '# mine' >> /etc/svc/svc.config.yaml; chmod 0600 /etc/svc/svc.config.yaml; chown svc /etc/svc/svc.config.yaml");
  succeeds(copy, 'dpkg -i /mnt/later.deb');
  const kept = succeeds(
    copy,
    'tail -1 /etc/svc/svc.config.yaml; stat -c "%a %U" /etc/svc/svc.config.yaml; cat /var/lib/svc/files/alice/kept',
  );
  assert.equal(kept, '# mine\n600 svc\nmine');
  const removed = 'dpkg -r svc; if command -v svc; then exit 1; fi; ls /etc/svc; cat /var/lib/svc/files/alice/kept';
  assert.match(succeeds(copy, removed), /svc\.config\.yaml\nmine$/);
  succeeds(copy, 'dpkg --purge svc');
  assert.match(
    copy.run('getent passwd svc').stdout,
    /:\/usr\/sbin\/nologin$/m,
    'the account stays, so that no other account gets its number',
  );
  assert.deepEqual(
    copy.changed().filter((name) => !ofTools.test(name)),
    [],
  );
});

/** Files that dpkg and the account tools write for every package. */
const ofTools =
  /^\/var\/(lib\/dpkg|log|cache)\/|^\/etc\/((passwd|group|shadow|gshadow|subuid|subgid)-?|\.pwd\.lock)$|^\/run\/(adduser|systemd\/)|^\/tmp\//;

function installed(copy: MachineCopy): void {
  const stat = 'stat -c "%n %a %U %G" /etc/svc /etc/svc/svc.config.yaml /var/lib/svc /var/log/svc /usr/bin/svc';
  assert.deepEqual(succeeds(copy, stat).trim().split('\n'), [
    '/etc/svc 750 root svc',
    '/etc/svc/svc.config.yaml 640 root svc',
    '/var/lib/svc 700 svc svc',
    '/var/log/svc 750 root adm',
    '/usr/bin/svc 755 root root',
  ]);
  assert.match(succeeds(copy, 'getent passwd svc'), /:\/var\/lib\/svc:\/usr\/sbin\/nologin$/m);
  assert.match(succeeds(copy, 'svc --version'), /^[\d.]+ \(Node\.js [\d.]+\)\n$/);
  const licences = succeeds(copy, 'svc --licenses');
  assert.match(licences, /^Node\.js [\d.]+: /m);
  assert.ok(succeeds(copy, 'cat /usr/share/doc/svc/copyright').endsWith(licences));
  sbom(JSON.parse(succeeds(copy, 'cat /usr/share/doc/svc/sbom.json')), succeeds(copy, 'svc --version'), licences);
  assert.match(succeeds(copy, 'zcat /usr/share/man/man1/svc.1.gz'), /^\.TH SVC 1/);
  libraries(succeeds(copy, 'ldd -v /usr/bin/svc'));
  succeeds(copy, 'bash -n /usr/share/bash-completion/completions/svc');
  succeeds(copy, 'logrotate --debug /etc/logrotate.d/svc');
}

/** Asserts that the installation page and the package declare the libraries that the binary needs. */
function libraries(ldd: string): void {
  const [needed = '', versions = ''] = ldd.split('Version information:');
  const names = needed
    .trim()
    .split('\n')
    .map((line) => (line.trim().split(' ')[0] ?? '').replace(/^.*\/|\.so\.\d+$/g, ''));
  const known = ['libc', 'libdl', 'libgcc_s', 'libm', 'libpthread', 'libstdc++'];
  assert.deepEqual(names.filter((name) => !/^(ld-linux|linux-vdso)/.test(name)).sort(), known);
  const own = versions.trim().split(/\n\t(?=\/)/)[0] ?? '';
  const newest = (symbols: string) =>
    Math.max(...[...own.matchAll(new RegExp(`\\(${symbols}\\.(\\d+)`, 'g'))].map(([, minor]) => Number(minor)));
  // GLIBCXX_3.4.25 is from GCC 8.
  assert.deepEqual([newest('GLIBC_2'), newest('GLIBCXX_3\\.4') <= 25], [28, true], own);
  assert.match(readFileSync(join(root, 'scripts/packages/debian/control'), 'utf8'), /libc6 \(>= 2\.28\), .*libstdc\+\+6 \(>= 8\)/);
  assert.match(readFileSync(join(root, 'docs/operate/install.md'), 'utf8'), /glibc 2\.28 or newer/);
}

interface Component {
  name: string;
  version: string;
  hashes: { content: string }[];
  components?: Component[];
}

/** Asserts that the SBOM contains Node.js, its components, and every package that the licences name. */
function sbom({ components }: { components: Component[] }, version: string, licences: string): void {
  const [node, ...packages] = components;
  assert.deepEqual([node?.name, `(Node.js ${node?.version})`], ['Node.js', /\(.*\)/.exec(version)?.[0]]);
  assert.match(node?.hashes[0]?.content ?? '', /^[0-9a-f]{128}$/);
  assert.match(node?.components?.find(({ name }) => name === 'openssl')?.version ?? '', /^3\./);
  const rule = `\n\n${'-'.repeat(80)}\n\n`;
  const named = licences.split(rule).map((text) => /^\S+ [\d.]\S*(?=: )/.exec(text)?.[0]);
  assert.deepEqual(packages.map((one) => `${one.name} ${one.version}`).sort(), named.slice(2).sort());
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
  assert.doesNotMatch(
    copy.run('cat /usr/lib/systemd/system/svc.service').stdout,
    /cache/i,
    'the unit names no cache of compiled code, because the binary contains the compiled code',
  );
  const { stdout } = copy.run('systemd-analyze security --offline=true /usr/lib/systemd/system/svc.service');
  const exposure = Number(/exposure level for svc\.service: ([\d.]+)/.exec(stdout)?.[1]);
  assert.ok(exposure > 0 && exposure <= 2, stdout);
}

/** Runs the last stage of the Dockerfile like a container: with its files, environment, account and commands, and a read-only root. */
async function image(copy: MachineCopy | undefined, folder: string, built: string): Promise<void> {
  if (!copy) return;
  const text = readFileSync(join(operations, 'Dockerfile'), 'utf8').replace(/\\\n\s*/g, ' ');
  const stage = text.slice(text.lastIndexOf('FROM '));
  const line = (instruction: string) => new RegExp(`^${instruction} (.*)$`, 'm').exec(stage)?.[1] ?? assert.fail(instruction);
  const words = (instruction: string) => (JSON.parse(line(instruction)) as string[]).join(' ');
  const [user, group] = line('USER').split(':');
  const [source = '', target = ''] = line('COPY --chmod=0644').split(' ');
  cpSync(join(root, source), join(folder, 'image.yaml'));
  const rights = `--reuid ${user} --regid ${group} --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs`;
  const ports = `SVC_PORT=${await freePort()} SVC_MONITOR_PORT=${await freePort()}`;
  const run = `setpriv ${rights} env -i PATH=/usr/local/bin:/usr/bin:/bin ${line('ENV')} ${ports}`;
  const script = `
    dpkg-deb -x ${built} /tmp/unpacked
    install -m 0755 /tmp/unpacked/usr/bin/svc /usr/local/bin/svc
    install -D -m 0644 /mnt/image.yaml ${target}
    install -d -o ${user} -g ${group} -m 0700 ${line('VOLUME')}
    mount --bind ${line('VOLUME')} ${line('VOLUME')}
    mount -t tmpfs tmpfs /tmp
    mount -o remount,bind,ro /
    cd ${line('WORKDIR')}
    if touch /usr/x 2> /dev/null; then exit 1; fi
    ${run} ${words('ENTRYPOINT')} ${words('CMD')} > /tmp/lines 2>&1 &
    server=$!
    for round in $(seq 100); do ${run} ${words('HEALTHCHECK .*? CMD')} && break; sleep 0.1; done
    kill $server
    wait $server || { cat /tmp/lines; exit 1; }`;
  assert.match(succeeds(copy, script), /^ready\n/m);
}

test('the systemd unit can be installed by hand as its first lines say', (t) => {
  const folder = temporaryFolder(t);
  const unit = readFileSync(join(operations, 'svc.service'), 'utf8');
  for (const name of ['svc.service', 'svc.config.yaml']) cpSync(join(operations, name), join(folder, name));
  writeFileSync(join(folder, 'svc.mjs'), '');
  const copy = machineCopy(t, folder);
  if (!copy) return;
  const commands = [...unit.matchAll(/^# {3}(.*)$/gm)].map(([, command = '']) => command.replace(/ && systemctl .*/, ''));
  assert.equal(commands.length, 4);
  const stat = "stat -c '%n %a %U %G' /etc/svc/svc.config.yaml /usr/local/lib/svc/svc.mjs /etc/systemd/system/svc.service";
  assert.deepEqual(
    succeeds(copy, ['cd /mnt', ...commands, stat].join('\n'))
      .trim()
      .split('\n'),
    ['/etc/svc/svc.config.yaml 640 root svc', '/usr/local/lib/svc/svc.mjs 755 root root', '/etc/systemd/system/svc.service 644 root root'],
  );
});

test('no Debian package is made for Windows', (t: TestContext) => {
  if (!hasProgram(t, 'dpkg-deb')) return;
  const folder = temporaryFolder(t);
  mkdirSync(folder, { recursive: true });
  const end = spawnSync(process.execPath, [join(root, 'scripts/packages/debian.mjs'), '--platform', 'win-x64'], { encoding: 'utf8' });
  assert.equal(end.status, 2);
  assert.match(end.stderr, /linux-x64, linux-arm64/);
});
