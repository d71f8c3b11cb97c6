import { ServiceError } from '../errors.ts';

export interface RedisAddress {
  kind: 'single' | 'sentinel' | 'cluster';
  hosts: { host: string; port: number }[];
  isTls: boolean;
  /** ACL user; empty for the default user. */
  username: string;
  password: string;
  /** Name of the primary in Sentinel; empty without Sentinel. */
  primaryName: string;
  database: number;
}

const shapes = {
  redis: ['single', false, 6379],
  rediss: ['single', true, 6379],
  'redis+sentinel': ['sentinel', false, 26379],
  'rediss+sentinel': ['sentinel', true, 26379],
  'redis+cluster': ['cluster', false, 6379],
  'rediss+cluster': ['cluster', true, 6379],
} as const;

/**
 * Parses the URL of `server.state`. Its forms are `redis://[user:password@]host[:port][/database]`,
 * `redis+sentinel://host,host/primary[/database]` and `redis+cluster://host,host`. `rediss` instead of `redis` means TLS.
 *
 * @throws ServiceError `bad-request` with the reason, which never contains the password
 */
export function parseRedisUrl(text: string): RedisAddress {
  const match = /^([a-z+]+):\/\/(?:([^@/]*)@)?([^/?#]+)(?:\/([^?#]*))?$/.exec(text);
  const shape = match && Object.hasOwn(shapes, match[1] as string) ? shapes[match[1] as keyof typeof shapes] : undefined;
  if (!match || !shape) throw invalid(`it must begin with ${Object.keys(shapes).join('://, ')}:// and name a host`);
  const [kind, isTls, defaultPort] = shape;
  const [, , credentials = '', hostList = '', path = ''] = match;
  const colon = credentials.indexOf(':');
  const hosts = hostList.split(',').map((item) => parseHost(item, defaultPort));
  if (kind === 'single' && hosts.length > 1) throw invalid('only redis+sentinel:// and redis+cluster:// may have several hosts');
  const segments = path.split('/').filter((segment) => segment !== '');
  const primaryName = kind === 'sentinel' ? decode(segments.shift() ?? '') : '';
  if (kind === 'sentinel' && primaryName === '')
    throw invalid('the name that Sentinel has for the primary is missing: redis+sentinel://host/name');
  const database = segments[0] ?? '0';
  if (segments.length > 1 || !/^\d{1,3}$/.test(database)) throw invalid('the database must be a number');
  if (kind === 'cluster' && database !== '0') throw invalid('a cluster has only the database 0');
  return {
    kind,
    hosts,
    isTls,
    username: colon < 0 ? '' : decode(credentials.slice(0, colon)),
    password: decode(credentials.slice(colon + 1)),
    primaryName,
    database: Number(database),
  };
}

/** Formats the address without credentials, for logs. */
export function describeRedisAddress({ kind, hosts, primaryName }: RedisAddress): string {
  const list = hosts.map(({ host, port }) => `${host}:${port}`).join(', ');
  return kind === 'sentinel' ? `${primaryName} at ${list}` : list;
}

function parseHost(item: string, defaultPort: number): { host: string; port: number } {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(item.trim());
  const port = Number(match?.[2] ?? defaultPort);
  if (!match || port === 0 || port > 65_535) throw invalid('a host must be a name or an address, with a port if it is not the default');
  return { host: (match[1] as string).replace(/^\[|\]$/g, ''), port };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalid('user and password must be percent-encoded');
  }
}

function invalid(reason: string): ServiceError {
  return new ServiceError('bad-request', `server.state.url: ${reason}.`);
}
