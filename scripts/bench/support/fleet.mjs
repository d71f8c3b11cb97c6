// The servers of a comparison, each started when a workload wants it first.
import { buildOfCommit, buildWithoutReadEvents } from './build-variant.mjs';

/** Names of the servers, as tables have them. */
export const names = {
  svc: 'svc',
  former: 'svc before',
  basic: 'svc, Basic',
  silent: 'svc, no events of reads',
  nginx: 'nginx',
  /** The same, where it has its module for PUT and PROPFIND. */
  nginxDav: 'nginx with dav-ext',
  apache: 'Apache mod_dav',
  caddy: 'Caddy',
  rclone: 'rclone serve webdav',
  limit: 'limit of Node.js',
  limitOfTwo: 'limit, 2 processes',
  hono: 'Hono with one lstat',
};

/** Starts servers by their names, each once. */
export class Fleet {
  #starts;
  #running = new Map();

  /**
   * @param servers what starts them; @param folder for builds
   * @param options.against commit whose build is `former`; without one there is none
   */
  constructor(servers, folder, { against } = {}) {
    this.former = against === undefined ? undefined : buildOfCommit(against, folder);
    this.#starts = {
      [names.svc]: () => servers.svc(),
      [names.former]: () => this.former && servers.svc({ name: names.former, executable: this.former }),
      [names.basic]: async () => {
        const svc = await this.get(names.svc);
        return { ...svc, name: names.basic, headers: svc.basicHeaders };
      },
      [names.silent]: async () => servers.svc({ name: names.silent, executable: await buildWithoutReadEvents(folder) }),
      [names.nginx]: () => servers.nginx(),
      [names.nginxDav]: async () => {
        const nginx = await this.get(names.nginx);
        return nginx?.hasDav ? nginx : undefined;
      },
      [names.apache]: () => servers.apache(),
      [names.caddy]: () => servers.caddy(),
      [names.rclone]: () => servers.rclone(),
      [names.limit]: () => servers.limit(),
      [names.limitOfTwo]: () => servers.limit({ processes: 2, name: names.limitOfTwo }),
      [names.hono]: () => servers.hono(),
    };
  }

  /** @returns undefined where it is not installed, or where there is no former build */
  get(name) {
    if (!this.#running.has(name)) this.#running.set(name, this.#starts[name]());
    return this.#running.get(name);
  }

  /** Starts one more server of a name for as long as `look` takes. @returns what `look` gives */
  async withAnother(name, look) {
    const server = await this.#starts[name]();
    try {
      return await look(server);
    } finally {
      server.child.kill('SIGTERM');
    }
  }

  /** Those of some servers that there are. */
  async all(wanted) {
    const found = [];
    for (const name of wanted) found.push(await this.get(name));
    return found.filter((server) => server !== undefined);
  }

  /** Those that were started so far. */
  async started() {
    return (await Promise.all(this.#running.values())).filter((server) => server !== undefined);
  }
}
