// `npm run build:deb`: builds dist/svc_<version>-1_<architecture>.deb from the binary, with systemd unit, account, configuration, manual
// page and completions. Needs dpkg-deb. As in Debian's tools, DEBFULLNAME and DEBEMAIL name the maintainer. The same sources give the same
// bytes, except for the code cache of the binary.
//   node scripts/packages/debian.mjs [--platform linux-x64|linux-arm64] [--out FOLDER] [--without-code-cache] [--quiet]
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'fflate';
import { makeBinary } from './make-binary.mjs';
import { thisPlatform } from './node-binaries.mjs';

const architectures = { 'linux-x64': 'amd64', 'linux-arm64': 'arm64' };

const { values: options } = parseArgs({
  options: {
    platform: { type: 'string', default: thisPlatform },
    out: { type: 'string', default: 'dist' },
    'without-code-cache': { type: 'boolean' },
    quiet: { type: 'boolean' },
  },
});
const architecture = architectures[options.platform];
if (!architecture) {
  console.error(`No package is made for ${options.platform}; there are ${Object.keys(architectures).join(', ')}.`);
  process.exit(2);
}
const out = resolve(options.out);
process.chdir(new URL('../..', import.meta.url).pathname);
mkdirSync(out, { recursive: true });
const source = new URL('./debian/', import.meta.url).pathname;
const { version: upstream } = JSON.parse(readFileSync('package.json', 'utf8'));
const version = `${upstream}-1`;
const maintainer = `${process.env.DEBFULLNAME || 'svc authors'} <${process.env.DEBEMAIL || 'root@localhost'}>`;
/** Time of the last change of the sources, in seconds since 1970. */
const changed = process.env.SOURCE_DATE_EPOCH || execFileSync('git', ['log', '-1', '--format=%ct'], { encoding: 'utf8' }).trim();

const root = mkdtempSync(join(tmpdir(), 'svc-deb-'));
try {
  chmodSync(root, 0o755);
  await fill();
  const name = join(out, `svc_${version}_${architecture}.deb`);
  pack(name);
  if (!options.quiet) console.log(`${name}: ${(statSync(name).size / 1e6).toFixed(0)} MB`);
} finally {
  rmSync(root, { recursive: true, force: true });
}

async function fill() {
  const { platform } = options;
  const script = 'dist/svc.mjs';
  execFileSync(process.execPath, ['scripts/build.mjs', '--quiet'], { stdio: 'inherit' });
  mkdirSync(join(root, 'usr/bin'), { recursive: true });
  const isCompiled = platform === thisPlatform && !options['without-code-cache'];
  const { licences, sbom } = await makeBinary(platform, { path: join(root, 'usr/bin/svc'), isCompiled });
  const printed = (...args) => execFileSync(process.execPath, [script, ...args], { maxBuffer: 2 ** 26 });
  place('etc/svc/svc.config.yaml', readFileSync(join(source, 'svc.config.yaml')));
  place('etc/logrotate.d/svc', readFileSync(join(source, 'logrotate')));
  place('usr/lib/systemd/system/svc.service', unit());
  place('usr/share/man/man1/svc.1.gz', gzipped(printed('man')));
  place('usr/share/bash-completion/completions/svc', printed('completion', 'bash'));
  place('usr/share/zsh/vendor-completions/_svc', printed('completion', 'zsh'));
  place('usr/share/fish/vendor_completions.d/svc.fish', printed('completion', 'fish'));
  const docs = 'usr/share/doc/svc';
  place(`${docs}/changelog.gz`, gzipped(readFileSync('CHANGELOG.md')));
  const date = new Date(changed * 1000).toUTCString().replace('GMT', '+0000');
  place(
    `${docs}/changelog.Debian.gz`,
    gzipped(Buffer.from(`svc (${version}) unstable; urgency=medium\n\n  * As changelog.gz says.\n\n -- ${maintainer}  ${date}\n`)),
  );
  // Plain text (not the machine-readable format of Debian), with the full text of each licence.
  place(`${docs}/copyright`, `This package holds svc, Node.js and the packages that svc is made with. Their licences:\n\n${licences}`);
  place(`${docs}/sbom.json`, sbom);
  place('usr/share/lintian/overrides/svc', readFileSync(join(source, 'lintian-overrides')));
  cpSync('examples', join(root, docs, 'examples'), { recursive: true });
}

/**
 * Returns the unit of the examples, changed to start the binary instead of Node.js with the script. The binary contains its compiled code,
 * so the lines about the compile cache are removed.
 */
function unit() {
  const text = readFileSync('examples/operations/svc.service', 'utf8');
  return text
    .slice(text.indexOf('[Unit]'))
    .replaceAll('/usr/bin/node /usr/local/lib/svc/svc.mjs', '/usr/bin/svc')
    .replace(/^# .*compiled code.*\n(?:.*\n){3}/m, '');
}

function pack(name) {
  const contents = files(root);
  const size = contents.reduce((sum, path) => sum + statSync(join(root, path)).size, 0);
  const control = readFileSync(join(source, 'control'), 'utf8')
    .replace('@VERSION@', version)
    .replace('@MAINTAINER@', maintainer)
    .replace('@ARCHITECTURE@', architecture)
    .replace('@SIZE@', String(Math.ceil(size / 1024)));
  place('DEBIAN/control', control);
  place('DEBIAN/conffiles', '/etc/svc/svc.config.yaml\n/etc/logrotate.d/svc\n');
  const digest = (path) =>
    createHash('md5')
      .update(readFileSync(join(root, path)))
      .digest('hex');
  place(
    'DEBIAN/md5sums',
    contents
      .filter((path) => !path.startsWith('etc/'))
      .map((path) => `${digest(path)}  ${path}\n`)
      .join(''),
  );
  for (const script of ['postinst', 'prerm', 'postrm']) {
    place(`DEBIAN/${script}`, readFileSync(join(source, script)));
    chmodSync(join(root, 'DEBIAN', script), 0o755);
  }
  // Sets the permissions, so that they do not depend on the umask.
  execFileSync('chmod', ['-R', 'u=rwX,go=rX', root]);
  execFileSync('find', [root, '-exec', 'touch', '--no-dereference', `--date=@${changed}`, '{}', '+']);
  execFileSync('dpkg-deb', ['--root-owner-group', '-Zxz', '-z1', '--build', root, name], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, SOURCE_DATE_EPOCH: changed },
  });
}

function files(folder) {
  const found = readdirSync(folder, { recursive: true, withFileTypes: true });
  return found
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

function place(path, content) {
  const full = join(root, path);
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, content);
}

function gzipped(bytes) {
  return gzipSync(bytes, { level: 9, mtime: 0 });
}
