// The servers that are measured: svc, and the peers that are installed. Each serves the same folder, with Basic wherever it can.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isInstalled } from '../../installed.mjs';
import { executable as built } from './benchmark.mjs';
import { send, sessionOf } from './exchange.mjs';
import { cpuSeconds, freePort, memoryMiB, versionOf } from './machine.mjs';
import { ServerGroup } from './server-group.mjs';

/** More connections at once than any workload makes. */
const manyConnections = 20_000;

export const userName = 'bench';
export const password = 'bench-password';
const basic = `Basic ${Buffer.from(`${userName}:${password}`).toString('base64')}`;

/** What the configuration has for a password. */
export function hashOf(clear) {
  return spawnSync(process.execPath, [built, 'hash-password'], { input: clear, encoding: 'utf8' }).stdout.trim();
}

/** Starts servers of plain HTTP. */
export class Servers extends ServerGroup {
  async #started(server, program, args, options) {
    // The first reply of svc is its challenge: what a password costs is no part of the start.
    const headers = server.firstStatus === 401 ? {} : { authorization: basic };
    const isUp = async () => {
      const reply = await send(`http://127.0.0.1:${server.port}${server.at('small')}`, { headers }).catch(() => undefined);
      return reply?.status === (server.firstStatus ?? 200);
    };
    return this.started({ headers: { authorization: basic }, ...server }, program, args, isUp, options);
  }

  /**
   * @param options.executable a bundle other than the built one; @param options.name in the table
   * @param options.node the interpreter, and @param options.nodeArgs its options
   * @param options.more `accounts`: so many in a file of accounts; `permissions`: of the group
   */
  async svc({ executable = built, name = 'svc', node = process.execPath, nodeArgs = [], more = {} } = {}) {
    const { port, folder: cwd } = await this.place(name.replaceAll(/\W+/g, '-'));
    const hash = hashOf(password);
    const others = Array.from({ length: more.accounts ?? 0 }, (_, index) => `  user-${index}:\n    password: ${hash}\n`);
    mkdirSync(join(cwd, 'data'), { mode: 0o700 });
    if (others.length > 0) writeFileSync(join(cwd, 'data/accounts.yaml'), `accounts:\n${others.join('')}`, { mode: 0o600 });
    const config = {
      server: { data_folder_path: './data' },
      groups: { DEFAULT_GROUP: { home_folder_path: this.home, ...(more.permissions && { permissions: more.permissions }) } },
      accounts: { [userName]: { password: hash } },
      services: { files: { type: 'http', port, maximum_concurrent_connections: manyConnections, idle_connection_timeout: 300 } },
    };
    writeFileSync(join(cwd, 'svc.config.json'), JSON.stringify(config), { mode: 0o600 });
    const args = [...nodeArgs, executable, 'serve', '--log-level', 'error'];
    const server = await this.#started({ name, port, firstStatus: 401, at: (path) => `/home/${path}` }, node, args, { cwd });
    const startCpuMs = cpuSeconds(server.pid) * 1000;
    const url = `http://127.0.0.1:${port}`;
    const page = await send(`${url}/__svc__/login`);
    if (page.status !== 200) throw new Error(`the login page gave ${page.status}`);
    const pageMs = performance.now() - server.startedMs;
    const idleMiB = memoryMiB(server.pid);
    return {
      ...server,
      startCpuMs,
      idleMiB,
      pageMs,
      headers: await sessionOf(url, userName, password),
      basicHeaders: { authorization: basic },
    };
  }

  /** The limit of Node.js: the same system calls for the same promises, without accounts, events or permissions. */
  async limit({ processes = 1, name = 'limit of Node.js' } = {}) {
    const port = await freePort();
    const journal = join(this.folder, `limit-journal-${port}`);
    const args = [join(process.cwd(), 'scripts/bench/limit-server.mjs'), this.home, String(port), journal, String(processes)];
    const server = await this.#started({ name, port, at: (path) => `/home/${path}` }, process.execPath, args);
    return { ...server, idleMiB: memoryMiB(server.pid) };
  }

  /** A Hono app that looks at the file and answers with a body it has in memory: what a request costs on the way to a handler. */
  async hono() {
    const port = await freePort();
    const args = [new URL('./processes/hono-server.mjs', import.meta.url).pathname, join(this.home, 'small'), String(port)];
    return this.#started({ name: 'Hono with one lstat', port, at: (path) => `/home/${path}` }, process.execPath, args);
  }

  /** The server of tus by its makers, with its store in files. It asks nobody who they are. */
  async tus() {
    const port = await freePort();
    const { version } = JSON.parse(readFileSync('node_modules/@tus/server/package.json', 'utf8'));
    const args = [new URL('./processes/tus-server.mjs', import.meta.url).pathname, join(this.home, 'put'), String(port)];
    const server = { name: '@tus/server', version, port, at: () => '/files/absent', firstStatus: 404 };
    return this.#started(server, process.execPath, args);
  }

  async nginx() {
    if (!this.isThere(isInstalled('nginx'), 'nginx')) return undefined;
    const dav = '/usr/lib/nginx/modules/ngx_http_dav_ext_module.so';
    const hasDav = this.isThere(existsSync(dav), 'the module dav-ext of nginx (PUT, PROPFIND)');
    const { port, folder } = await this.place('nginx');
    writeFileSync(join(folder, 'htpasswd'), `${userName}:{SHA}${createHash('sha1').update(password).digest('base64')}\n`);
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(' ');
    writeFileSync(
      join(folder, 'nginx.conf'),
      `${hasDav ? `load_module ${dav};` : ''}
worker_processes auto; daemon off; pid ${folder}/pid; error_log ${folder}/error.log; ${process.getuid() === 0 ? 'user root;' : ''}
worker_rlimit_nofile ${manyConnections}; events { worker_connections ${manyConnections}; }
http { access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_requests 100000000; client_max_body_size 0; ${temporary}
include /etc/nginx/mime.types;
server { listen 127.0.0.1:${port} backlog=4096; root ${this.home}; autoindex on; autoindex_format json;
auth_basic bench; auth_basic_user_file ${folder}/htpasswd;
${hasDav ? 'dav_methods PUT DELETE MKCOL COPY MOVE; dav_ext_methods PROPFIND OPTIONS; create_full_put_path on;' : ''} } }
`,
    );
    const server = { name: 'nginx', version: versionOf('nginx', '-v'), port, at: (path) => `/${path}`, hasDav };
    return this.#started(server, 'nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')]);
  }

  async apache() {
    const modules = '/usr/lib/apache2/modules';
    if (!this.isThere(isInstalled('apache2') && existsSync(`${modules}/mod_dav_fs.so`), 'Apache mod_dav')) return undefined;
    const { port, folder } = await this.place('apache');
    writeFileSync(join(folder, 'htpasswd'), `${userName}:{SHA}${createHash('sha1').update(password).digest('base64')}\n`);
    const names = ['mpm_event', 'authn_core', 'authn_file', 'authz_core', 'authz_user', 'auth_basic', 'dav', 'dav_fs', 'autoindex', 'mime'];
    const lines = [
      ...names.map((name) => `LoadModule ${name}_module ${modules}/mod_${name}.so`),
      'ServerName localhost',
      `Listen 127.0.0.1:${port}`,
      `PidFile ${folder}/pid`,
      `ErrorLog ${folder}/error.log`,
      'TypesConfig /etc/mime.types',
      `DocumentRoot ${this.home}`,
      `DavLockDB ${folder}/locks`,
      'MaxKeepAliveRequests 0',
      'KeepAliveTimeout 60',
      'ThreadLimit 128',
      'ThreadsPerChild 128',
      'MaxRequestWorkers 128',
      `<Directory ${this.home}>`,
      'Dav On',
      'Options +Indexes',
      'IndexOptions FancyIndexing',
      'AuthType Basic',
      'AuthName bench',
      `AuthUserFile ${folder}/htpasswd`,
      'Require valid-user',
      '</Directory>',
    ];
    writeFileSync(join(folder, 'apache.conf'), `${lines.join('\n')}\n`);
    const version = versionOf('apache2', '-v');
    const server = { name: 'Apache mod_dav', version, port, at: (path) => `/${path}` };
    // In one process, as -X has it, root needs no account to change to; it has all its threads.
    return this.#started(server, 'apache2', ['-X', '-f', join(folder, 'apache.conf')]);
  }

  /** Files and listings only; without accounts, as its password hashes are slow by design. */
  async caddy() {
    if (!this.isThere(isInstalled('caddy'), 'Caddy')) return undefined;
    const { port, folder } = await this.place('caddy');
    writeFileSync(
      join(folder, 'Caddyfile'),
      `{\n\tadmin off\n\tlog {\n\t\tlevel ERROR\n\t}\n}\nhttp://127.0.0.1:${port} {\n\troot * ${this.home}\n\tfile_server browse\n}\n`,
    );
    const env = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
    const server = { name: 'Caddy', version: versionOf('caddy', 'version'), port, at: (path) => `/${path}` };
    return this.#started(server, 'caddy', ['run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'], { env });
  }

  async rclone() {
    if (!this.isThere(isInstalled('rclone'), 'rclone')) return undefined;
    const port = await freePort();
    const args = ['serve', 'webdav', this.home, '--addr', `127.0.0.1:${port}`, '--user', userName, '--pass', password];
    const version = versionOf('rclone', 'version');
    return this.#started({ name: 'rclone serve webdav', version, port, at: (path) => `/${path}` }, 'rclone', args, {
      env: { RCLONE_CONFIG: '/dev/null' },
    });
  }
}
