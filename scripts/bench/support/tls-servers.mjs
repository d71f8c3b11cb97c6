// https servers that are measured, all with the same certificate: svc, and the peers that are installed.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isInstalled } from '../../installed.mjs';
import { executable as built } from './benchmark.mjs';
import { send, sessionOf } from './exchange.mjs';
import { versionOf } from './machine.mjs';
import { ServerGroup } from './server-group.mjs';
import { hashOf, password, userName } from './servers.mjs';

/** Starts servers of https. */
export class TlsServers extends ServerGroup {
  /** Certificate and key with ECDSA P-256, which all have. */
  #pair;

  constructor(folder, home) {
    super(folder, home);
    this.#pair = this.#makePair('server', ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256']);
  }

  #makePair(name, kind) {
    const [cert, key] = ['crt', 'key'].map((ending) => join(this.folder, `${name}.${ending}`));
    const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
    const args = ['req', '-x509', '-newkey', ...kind, '-nodes', '-days', '2', ...names, '-keyout', key, '-out', cert];
    execFileSync('openssl', args, { stdio: 'ignore' });
    return { cert, key };
  }

  async #started(server, program, args, options) {
    const isUp = async () => (await send(`https://127.0.0.1:${server.port}${server.publicPath}`).catch(() => undefined))?.status === 200;
    return this.started({ headers: {}, renew: async () => {}, ...server }, program, args, isUp, options);
  }

  /** @param options.hasRsa whether its key is RSA 2048 instead */
  async svc({ executable = built, name = 'svc', hasRsa = false } = {}) {
    const { cert, key } = hasRsa ? this.#makePair('rsa', ['rsa:2048']) : this.#pair;
    const { port, folder: cwd } = await this.place('svc');
    const config = {
      groups: { DEFAULT_GROUP: { home_folder_path: this.home } },
      accounts: { [userName]: { password: hashOf(password) } },
      services: { files: { type: 'https', port, tls_certificate_path: cert, tls_key_path: key } },
    };
    writeFileSync(join(cwd, 'svc.config.json'), JSON.stringify(config), { mode: 0o600 });
    const about = { name, port, at: (path) => `/home/${path}`, publicPath: '/__svc__/appearance.css', takesUploads: true };
    const server = await this.#started(about, process.execPath, [executable, 'serve', '--log-level', 'error'], { cwd });
    // A session that nobody uses while others are measured ends.
    server.renew = async () => {
      server.headers = await sessionOf(`https://127.0.0.1:${port}`, userName, password);
    };
    await server.renew();
    return server;
  }

  async nginx() {
    if (!this.isThere(isInstalled('nginx'), 'nginx')) return undefined;
    const { port, folder } = await this.place('nginx');
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(' ');
    writeFileSync(
      join(folder, 'nginx.conf'),
      `worker_processes auto; daemon off; pid ${folder}/pid; error_log ${folder}/error.log; ${process.getuid() === 0 ? 'user root;' : ''}
events { worker_connections 20000; }
http { access_log off; tcp_nodelay on; keepalive_requests 100000000; keepalive_timeout 600; client_max_body_size 0; ${temporary}
server { listen 127.0.0.1:${port} ssl http2 backlog=4096; ssl_certificate ${this.#pair.cert}; ssl_certificate_key ${this.#pair.key};
ssl_session_cache shared:SSL:10m; root ${this.home}; dav_methods PUT; } }
`,
    );
    const about = {
      name: 'nginx',
      version: versionOf('nginx', '-v'),
      port,
      at: (path) => `/${path}`,
      publicPath: '/small',
      takesUploads: true,
    };
    return this.#started(about, 'nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')]);
  }

  async caddy() {
    if (!this.isThere(isInstalled('caddy'), 'Caddy')) return undefined;
    const { port, folder } = await this.place('caddy');
    writeFileSync(
      join(folder, 'Caddyfile'),
      `{\n\tadmin off\n\tauto_https off\n\tlog {\n\t\tlevel ERROR\n\t}\n}
https://127.0.0.1:${port}, https://localhost:${port} {\n\ttls ${this.#pair.cert} ${this.#pair.key}\n\troot * ${this.home}\n\tfile_server\n}\n`,
    );
    const env = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
    const about = { name: 'Caddy', version: versionOf('caddy', 'version'), port, at: (path) => `/${path}`, publicPath: '/small' };
    return this.#started(about, 'caddy', ['run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'], { env });
  }
}
