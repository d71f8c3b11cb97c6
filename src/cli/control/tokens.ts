import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import type { ShownItem } from '../../control/collection.ts';
import { orderOfService } from '../../control/control-socket.ts';
import { ServiceError } from '../../lib/errors.ts';
import { exitCode } from '../exit-codes.ts';
import { complain, count, print, visible } from '../output.ts';
import { readSecretOption } from '../prompt.ts';
import { type ServiceOptions, serviceFolder } from './service-folder.ts';

/** Options of `svc tokens list` and `revoke`, and of the same commands for links. */
interface GrantOptions extends ServiceOptions {
  account?: string;
  all?: boolean;
  json?: boolean;
}

/** Options of `svc tokens create` and `narrow`. */
export interface TokenOptions extends ServiceOptions {
  account?: string;
  name: string;
  path: string[];
  permission: string[];
  address: string[];
  service: string[];
  expires?: number;
  json?: boolean;
}

const columns = {
  token: ['id', 'account', 'name', 'path', 'expires', 'last_used'],
  link: ['id', 'account', 'link', 'path', 'expires', 'downloads'],
};

/** Prints the valid tokens or links of a running service. */
export async function listGrants(kind: 'token' | 'link', { account, json, ...options }: GrantOptions): Promise<number> {
  const items = await order(options, 'list-grants', { kind, account });
  if (json) for (const item of items) print(JSON.stringify(item));
  else if (items.length === 0) complain(`svc: no ${kind}s`);
  else print(table(columns[kind], items));
  return exitCode.done;
}

/** Revokes tokens or links. @returns 1 if at least one of the given IDs does not exist */
export async function revokeGrants(kind: 'token' | 'link', ids: readonly string[], options: GrantOptions): Promise<number> {
  const { account, all, json, ...service } = options;
  if ([ids.length > 0, account !== undefined, all].filter(Boolean).length !== 1)
    throw new ServiceError('bad-request', `Name the ${kind}s to revoke: their IDs, or --account, or --all.`);
  const selected = ids.length > 0 ? { ids } : { account, all };
  const ended = await order(service, 'end-grants', { kind, by: userInfo().username, ...selected });
  if (json) for (const item of ended) print(JSON.stringify(item));
  else print(`revoked ${count(ended.length, kind)}`);
  const known = new Set(ended.map(({ id }) => id));
  const missing = [...new Set(ids)].filter((id) => !known.has(id));
  for (const id of missing) complain(`svc: there is no ${kind} ${visible(id)}`);
  return missing.length > 0 ? exitCode.no : exitCode.done;
}

/** Creates a token of an account, and prints only the token. */
export async function createToken({ account, ...options }: TokenOptions): Promise<number> {
  return printMade(await order(options, 'create-token', { by: userInfo().username, account, order: wantedToken(options) }), options);
}

/**
 * Creates a token with at most the rights of a given token, and prints only the new token. If the given token ends, so does the new one.
 */
export async function narrowToken(token: string, options: TokenOptions): Promise<number> {
  const secret = await readSecretOption(token);
  return printMade(await order(options, 'narrow-token', { by: userInfo().username, token: secret, order: wantedToken(options) }), options);
}

/** Replaces a token by a new one, and prints only the new token. */
export async function rotateToken(id: string, { overlap, ...options }: GrantOptions & { overlap: number }): Promise<number> {
  return printMade(await order(options, 'rotate-token', { by: userInfo().username, id, overlap }), options);
}

function wantedToken({ name, path, permission, address, service, expires }: TokenOptions): object {
  const list = (items: string[]) => (items.length > 0 ? items : undefined);
  return { name, path: list(path), permissions: list(permission), addresses: list(address), services: list(service), expires };
}

async function order(options: ServiceOptions, name: string, given: object): Promise<ShownItem[]> {
  return orderOfService(await serviceFolder(options), name, given);
}

function printMade([made]: ShownItem[], { json }: { json?: boolean }): number {
  print(json ? JSON.stringify(made) : String((made as { token?: unknown } | undefined)?.token));
  return exitCode.done;
}

function table(names: readonly string[], items: readonly ShownItem[]): string {
  const cells = [names, ...items.map((item) => names.map((name) => visible(cell((item as Record<string, unknown>)[name]))))];
  const widths = names.map((_, column) => Math.max(...cells.map((row) => (row[column] ?? '').length)));
  return cells
    .map((row) =>
      row
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function cell(value: unknown): string {
  if (value === undefined || value === null) return '-';
  return Array.isArray(value) ? value.join(',') : String(value);
}

/** Options of `svc links create`. */
interface LinkOptions extends ServiceOptions {
  account: string;
  path: string;
  kind: string;
  expires?: number;
  passwordFile?: string;
  downloads?: number;
  note?: string;
  service?: string;
  json?: boolean;
}

/** Creates a link of an account, and prints only its URL. */
export async function createLink({ account, service, json, ...options }: LinkOptions): Promise<number> {
  const { path, kind, expires, passwordFile, downloads, note } = options;
  const password = passwordFile === undefined ? undefined : readFirstLine(passwordFile);
  const order = { path, kind, expires, password, maximum_downloads: downloads, note };
  const given = { by: userInfo().username, account, service, order };
  const [made] = await orderOfService(await serviceFolder(options), 'create-link', given);
  print(json ? JSON.stringify(made) : String((made as { url?: unknown } | undefined)?.url));
  return exitCode.done;
}

// Other users of the machine can see the arguments of a command, so the password is read from a file.
function readFirstLine(file: string): string {
  return readFileSync(file === '-' ? 0 : file, 'utf8').split(/\r?\n/, 1)[0] ?? '';
}
