import { userInfo } from 'node:os';
import type { ControlledName, HeldAction, Selection, ShownItem } from '../../control/collection.ts';
import { askHeld, askService } from '../../control/control-socket.ts';
import { peekDataFolder } from '../../lib/disk/data-folder.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { exitCode } from '../exit-codes.ts';
import { complain, count, paint, print, visible } from '../output.ts';
import { type ServiceOptions, serviceFolder } from './service-folder.ts';

/** Options of `list` and `remove`. */
interface ControlOptions extends ServiceOptions {
  account?: string;
  address?: string;
  all?: boolean;
  json?: boolean;
}

const columns: Readonly<Record<ControlledName, readonly string[]>> = {
  trash: ['id', 'deleted', 'account', 'size', 'path'],
  sessions: ['id', 'service', 'account', 'address', 'created', 'expires'],
  locks: ['id', 'path', 'depth', 'account', 'address', 'owner', 'expires'],
  bans: ['id', 'failures', 'since', 'expires'],
  held: ['id', 'state', 'reason', 'time', 'account', 'size', 'path'],
};

/** Lists the items of one kind in a running service. */
export async function list(name: ControlledName, { account, address, ...options }: ControlOptions): Promise<number> {
  const items = await ask('GET', name, { account, address }, options);
  if (options.json) printLines(items);
  else if (items.length > 0) print(table(columns[name], items));
  else complain(name === 'trash' ? 'svc: the trash is empty' : `svc: no ${name === 'held' ? 'held uploads' : name}`);
  return exitCode.done;
}

/** Removes items of one kind from a running service. @returns 1 if at least one of the IDs does not exist */
export async function remove(name: ControlledName, ids: readonly string[], options: ControlOptions): Promise<number> {
  const { account, address, all } = options;
  const isSelected = account !== undefined || address !== undefined;
  if ([ids.length > 0, isSelected, all].filter(Boolean).length !== 1)
    throw new ServiceError('bad-request', `Name the ${name} to remove: by ID, with --account or --address, or with --all.`);
  const removed = await ask('DELETE', name, ids.length > 0 ? { ids } : { account, address, all }, options);
  if (options.json) printLines(removed);
  else print(`removed ${count(removed.length, name.slice(0, -1))}`);
  const known = new Set(removed.map(({ id }) => id));
  const missing = [...new Set(ids)].filter((id) => !known.has(id));
  for (const id of missing) complain(`svc: there is no ${name.slice(0, -1)} ${visible(id)}`);
  return missing.length > 0 ? exitCode.no : exitCode.done;
}

/** Permanently deletes everything in the trash, or only the items of one account. */
export async function emptyTrash({ account, json, ...options }: ControlOptions): Promise<number> {
  const ended = await ask('DELETE', 'trash', account === undefined ? { all: true } : { account }, options);
  if (json) printLines(ended);
  else print(`permanently deleted ${count(ended.length, 'item')}`);
  return exitCode.done;
}

/** Restores items from the trash to their former paths. @returns 1 if an item is missing or cannot be restored */
export async function restoreTrash(ids: readonly string[], { account, json, ...options }: ControlOptions): Promise<number> {
  const items = await ask('POST', 'trash', { ids, account }, options);
  const failed = items.filter(({ problem }) => problem !== undefined);
  const restored = items.filter(({ problem }) => problem === undefined);
  if (json) printLines(restored);
  else for (const { path } of restored) print(`restored ${visible(String(path))}`);
  for (const { id, path, problem } of failed) complain(`svc: ${id} (${visible(String(path))}) is not restored: ${problem}`);
  const known = new Set(items.map(({ id }) => id));
  const missing = [...new Set(ids)].filter((id) => !known.has(id));
  for (const id of missing) complain(`svc: there is no item ${visible(id)} in the trash`);
  return missing.length + failed.length > 0 ? exitCode.no : exitCode.done;
}

async function ask(
  method: 'GET' | 'DELETE' | 'POST',
  name: ControlledName,
  selection: Selection,
  options: ServiceOptions,
): Promise<ShownItem[]> {
  const folder = await serviceFolder(options);
  try {
    return await askService(folder, method, name, selection);
  } catch (error) {
    if (isServiceError(error, 'unavailable') && error.cause !== undefined && peekDataFolder(folder).ownerPid === undefined)
      throw new ServiceError('unavailable', `No service is running with the data folder ${folder}.`, { cause: error });
    throw error;
  }
}

function printLines(items: readonly ShownItem[]): void {
  for (const item of items) print(JSON.stringify(item));
}

function table(names: readonly string[], items: readonly ShownItem[]): string {
  const rows = items.map((item) => names.map((name) => visible(String(item[name] || '-'))));
  const widths = names.map((name, index) => Math.max(name.length, ...rows.map((row) => row[index]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd();
  return [paint(process.stdout, 'bold', line(names.map((name) => name.toUpperCase()))), ...rows.map(line)].join('\n');
}

/** Options of `svc held show` and of the actions on held uploads. */
export interface HeldOptions extends ServiceOptions {
  reason?: string;
  json?: boolean;
}

/** Prints all data about one held upload. @returns 1 if it does not exist */
export async function showHeld(id: string, options: HeldOptions): Promise<number> {
  const [item] = await askService(await serviceFolder(options), 'GET', 'held', { ids: [id] });
  if (!item) {
    complain(`svc: there is no held upload ${visible(id)}`);
    return exitCode.no;
  }
  print(options.json ? JSON.stringify(item) : described(item));
  return exitCode.done;
}

function described({ digest, verdicts, ...facts }: ShownItem): string {
  const lines = Object.entries(facts).map(([name, value]) => `${name}: ${visible(String(value))}`);
  const { 'sha-256': sha256 } = digest as { 'sha-256': string };
  const told = (verdicts as { inspection: string; verdict: string; message: string; time: string }[]).map(
    ({ inspection, verdict, message, time }) =>
      `verdict: ${[time, visible(inspection), verdict, visible(message)].filter(Boolean).join(' ')}`,
  );
  return [...lines, `sha-256: ${sha256}`, ...told].join('\n');
}

const done: Readonly<Record<HeldAction, string>> = {
  release: 'released',
  discard: 'discarded',
  'inspect-again': 'inspecting again',
};

/** Releases or discards held uploads, or has them inspected again. @returns 1 if the action failed for at least one of them */
export async function actOnHeld(action: HeldAction, ids: readonly string[], options: HeldOptions): Promise<number> {
  const results = await askHeld(await serviceFolder(options), action, ids, userInfo().username, options.reason);
  const failed = results.filter(({ error }) => error !== undefined);
  if (options.json) for (const result of results) print(JSON.stringify(result));
  else print(`${done[action]} ${count(results.length - failed.length, 'held upload')}`);
  for (const { id, error } of failed) complain(`svc: ${visible(id)}: ${visible(String(error))}`);
  return failed.length > 0 ? exitCode.no : exitCode.done;
}
