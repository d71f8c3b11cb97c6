// Describes the measured servers as data. A server has
//   name      its name in tables
//   scheme    http, https or ssh
//   can       the abilities that are measured
//   program   its program, searched in PATH; `needs`: a file that must exist, too; `version`: arguments that print its version
//   files     files of its own folder, by name; `args`, `env`: functions of a place (port and folders, see group.mjs)
//   at        returns the path under which it serves a file
//   ready     returns further data about the server, after it answers
// All servers serve the same folder. Requests to svc use a session. Other servers require Basic authentication over http (except Caddy),
// and no credentials over https. All SSH servers accept the same key.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { executable as built } from './benchmark.mjs';
import { send, sessionOf } from './exchange.mjs';
import { cpuSeconds, memoryMiB } from './machine.mjs';

const manyConnections = 20_000;

export const userName = 'bench';
export const password = 'bench-password';
export const basic = `Basic ${Buffer.from(`${userName}:${password}`).toString('base64')}`;
const htpasswd = `${userName}:{SHA}${createHash('sha1').update(password).digest('base64')}\n`;
const plain = (path) => `/${path}`;

const hashes = new Map();
/** Returns the hash of a password for the configuration. */
export function hashOf(clear = password) {
  const hash = () => spawnSync(process.execPath, [built, 'hash-password'], { input: clear, encoding: 'utf8' }).stdout.trim();
  return hashes.get(clear) ?? hashes.set(clear, hash()).get(clear);
}

/** Creates a key for SSH. @returns its path */
function sshKey(folder, name) {
  const path = join(folder, name);
  if (!existsSync(path)) execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', path]);
  return path;
}

/** Returns the path of the client's SSH key, which all SSH servers of a run accept. */
export const userKey = (place) => sshKey(place.shared, 'id_bench');
const hostKey = (place) => sshKey(place.folder, 'host_key');

/** Creates the certificate and key that all https servers of a run use. @param kind `ec` (P-256) or `rsa` (2048) */
function tlsPair({ shared }, kind = 'ec') {
  const [cert, key] = ['crt', 'key'].map((ending) => join(shared, `${kind}.${ending}`));
  const algorithm = kind === 'ec' ? ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256'] : ['rsa:2048'];
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  if (!existsSync(key))
    execFileSync('openssl', ['req', '-x509', '-newkey', ...algorithm, '-nodes', '-days', '2', ...names, '-keyout', key, '-out', cert], {
      stdio: 'ignore',
    });
  return { cert, key };
}

const serviceOf = {
  http: () => ({}),
  https: (place, { certificate }) => {
    const { cert, key } = tlsPair(place, certificate);
    return { tls_certificate_path: cert, tls_key_path: key };
  },
  ssh: (place) => ({ address: '127.0.0.1', host_key_paths: [hostKey(place)], maximum_sessions_per_account: manyConnections }),
};

/**
 * Describes svc as a measured server.
 *
 * @param options.name name in the table
 * @param options.executable the build; by default that of `npm run build`
 * @param options.binary a binary with Node.js inside, which runs instead of the build
 * @param options.node path of Node.js
 * @param options.nodeArgs options of Node.js
 * @param options.args options of `serve`
 * @param options.config options of the configuration that are added or replaced
 * @param options.services additional services
 * @param options.certificate `rsa` for an RSA key in place of P-256
 */
export function svc({
  name = 'svc',
  scheme = 'http',
  executable = built,
  binary,
  node = process.execPath,
  nodeArgs = [],
  args = [],
  ...options
} = {}) {
  return {
    name,
    scheme,
    can: ['get', 'range', 'put', 'propfind', 'json', 'html', 'zip', 'connections', 'sftp'],
    program: binary ?? node,
    files: (place) => {
      const own = { type: scheme, port: place.port, maximum_concurrent_connections: manyConnections };
      const idle = scheme === 'ssh' ? {} : { idle_connection_timeout: 3600 };
      const account =
        scheme === 'ssh'
          ? { [userInfo().username]: { ssh_keys: [readFileSync(`${userKey(place)}.pub`, 'utf8').trim()] } }
          : { [userName]: { password: hashOf() } };
      const config = {
        server: { data_folder_path: './data' },
        groups: { DEFAULT_GROUP: { home_folder_path: place.home } },
        accounts: account,
        services: { files: { ...own, ...idle, ...serviceOf[scheme](place, options) }, ...options.services },
        ...options.config,
      };
      return { 'svc.config.json': JSON.stringify(config) };
    },
    args: () => [...(binary ? [] : [...nodeArgs, executable]), 'serve', '--log-level', 'error', ...args],
    at: (path) => (scheme === 'ssh' ? `/${path}` : `/home/${path}`),
    publicPath: '/__svc__/appearance.css',
    // The start ends when the server first returns 401. The check of a password is not part of the start.
    firstStatus: 401,
    async ready({ pid, port, startedMs }) {
      if (scheme === 'ssh') return {};
      const startCpuMs = cpuSeconds(pid) * 1000;
      const url = `${scheme}://127.0.0.1:${port}`;
      if ((await send(`${url}/__svc__/login`)).status !== 200) throw new Error('svc has no login page');
      const pageMs = performance.now() - startedMs;
      return { startCpuMs, pageMs, idleMiB: memoryMiB(pid), headers: await sessionOf(url, userName, password) };
    },
  };
}

const davModule = '/usr/lib/nginx/modules/ngx_http_dav_ext_module.so';
const hasDav = existsSync(davModule);

function nginx(scheme) {
  const isTls = scheme === 'https';
  const server = (place) => {
    const { cert, key } = isTls ? tlsPair(place) : {};
    return isTls
      ? `ssl http2 backlog=4096; ssl_certificate ${cert}; ssl_certificate_key ${key}; ssl_session_cache shared:SSL:10m; dav_methods PUT`
      : `backlog=4096; autoindex on; autoindex_format json; auth_basic bench; auth_basic_user_file ${place.folder}/htpasswd
${hasDav ? '; dav_methods PUT DELETE MKCOL COPY MOVE; dav_ext_methods PROPFIND OPTIONS; create_full_put_path on' : ''}`;
  };
  return {
    name: 'nginx',
    scheme,
    can: ['get', 'range', 'json', 'connections', ...(isTls ? ['put'] : hasDav ? ['put', 'propfind'] : [])],
    program: 'nginx',
    version: ['-v'],
    files: (place) => {
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${place.folder}/${kind};`);
      return {
        htpasswd,
        'nginx.conf': `${hasDav ? `load_module ${davModule};` : ''}
worker_processes auto; daemon off; pid ${place.folder}/pid; error_log ${place.folder}/error.log; ${process.getuid() === 0 ? 'user root;' : ''}
worker_rlimit_nofile ${manyConnections}; events { worker_connections ${manyConnections}; }
http { access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_requests 100000000; keepalive_timeout 600;
client_max_body_size 0; ${temporary.join(' ')} include /etc/nginx/mime.types;
server { root ${place.home}; listen 127.0.0.1:${place.port} ${server(place)}; } }
`,
      };
    },
    args: ({ folder }) => ['-p', folder, '-c', join(folder, 'nginx.conf')],
    at: plain,
  };
}

const apacheModules = '/usr/lib/apache2/modules';
const apache = {
  name: 'Apache mod_dav',
  scheme: 'http',
  can: ['get', 'range', 'put', 'propfind', 'html'],
  program: 'apache2',
  needs: `${apacheModules}/mod_dav_fs.so`,
  version: ['-v'],
  files: ({ port, folder, home }) => {
    const names = ['mpm_event', 'authn_core', 'authn_file', 'authz_core', 'authz_user', 'auth_basic', 'dav', 'dav_fs', 'autoindex', 'mime'];
    return {
      htpasswd,
      'apache.conf': `${names.map((name) => `LoadModule ${name}_module ${apacheModules}/mod_${name}.so`).join('\n')}
ServerName localhost\nListen 127.0.0.1:${port}\nPidFile ${folder}/pid\nErrorLog ${folder}/error.log\nTypesConfig /etc/mime.types
DocumentRoot ${home}\nDavLockDB ${folder}/locks\nMaxKeepAliveRequests 0\nKeepAliveTimeout 60
ThreadLimit 128\nThreadsPerChild 128\nMaxRequestWorkers 128
<Directory ${home}>\nDav On\nOptions +Indexes\nIndexOptions FancyIndexing
AuthType Basic\nAuthName bench\nAuthUserFile ${folder}/htpasswd\nRequire valid-user\n</Directory>\n`,
    };
  },
  // With -X, Apache runs as one process with all of its threads, and root need not switch to another account.
  args: ({ folder }) => ['-X', '-f', join(folder, 'apache.conf')],
  at: plain,
};

/** Caddy, only with files and listings. It has no accounts, because its password hashes are slow on purpose. */
function caddy(scheme) {
  return {
    name: 'Caddy',
    scheme,
    can: ['get', 'range', 'json', 'html', 'connections'],
    program: 'caddy',
    version: ['version'],
    files: (place) => {
      const { cert, key } = scheme === 'https' ? tlsPair(place) : {};
      const names =
        scheme === 'https' ? `https://127.0.0.1:${place.port}, https://localhost:${place.port}` : `http://127.0.0.1:${place.port}`;
      return {
        Caddyfile: `{\n\tadmin off\n\tauto_https off\n\tlog {\n\t\tlevel ERROR\n\t}\n}
${names} {\n\t${cert ? `tls ${cert} ${key}` : ''}\n\troot * ${place.home}\n\tfile_server browse\n}\n`,
      };
    },
    args: ({ folder }) => ['run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'],
    env: ({ folder }) => ({ HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }),
    at: plain,
  };
}

const rclone = {
  program: 'rclone',
  version: ['version'],
  env: () => ({ RCLONE_CONFIG: '/dev/null' }),
  at: plain,
};

export const peers = [
  nginx('http'),
  apache,
  caddy('http'),
  {
    ...rclone,
    name: 'rclone serve webdav',
    scheme: 'http',
    can: ['get', 'range', 'put', 'propfind', 'html', 'connections'],
    args: ({ home, port }) => ['serve', 'webdav', home, '--addr', `127.0.0.1:${port}`, '--user', userName, '--pass', password],
  },
  nginx('https'),
  caddy('https'),
  {
    name: 'sshd',
    scheme: 'ssh',
    can: ['sftp'],
    program: '/usr/sbin/sshd',
    needs: '/usr/sbin/sshd',
    versionOf: 'ssh',
    version: ['-V'],
    files: (place) => ({
      authorized_keys: readFileSync(`${userKey(place)}.pub`),
      sshd_config: `Port ${place.port}\nListenAddress 127.0.0.1\nHostKey ${hostKey(place)}\nAuthorizedKeysFile ${place.folder}/authorized_keys
PidFile none\nLogLevel ERROR\nUsePAM no\nStrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no
MaxStartups 4000\nSubsystem sftp internal-sftp\n`,
    }),
    args: ({ folder }) => ['-D', '-e', '-f', join(folder, 'sshd_config')],
    at: (path, { home }) => `${home}/${path}`,
  },
  {
    ...rclone,
    name: 'rclone serve sftp',
    scheme: 'ssh',
    can: ['sftp'],
    args: (place) => [
      ...['serve', 'sftp', place.home, '--addr', `127.0.0.1:${place.port}`, '--key', hostKey(place)],
      ...['--authorized-keys', `${userKey(place)}.pub`, '--log-level', 'ERROR'],
    ],
  },
];

/** The tus project's own server with its file store. It has no authentication. */
export const tusServer = {
  name: '@tus/server',
  scheme: 'http',
  can: ['tus'],
  program: process.execPath,
  args: ({ home, port }) => [new URL('./processes/tus-server.mjs', import.meta.url).pathname, join(home, 'put'), String(port)],
  at: () => '/files/absent',
  firstStatus: 404,
};
