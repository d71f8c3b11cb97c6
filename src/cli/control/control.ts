import type { ControlledName, Selection, ShownItem } from '../../control/collection.ts';
import { askService } from '../../control/control-socket.ts';
import { peekDataFolder } from '../../lib/disk/data-folder.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { exitCode } from '../exit-codes.ts';
import { complain, count, paint, print, visible } from '../output.ts';
import { type ServiceOptions, serviceFolder } from './service-folder.ts';

/** Options of `list` and `remove`. */
export interface ControlOptions extends ServiceOptions {
  account?: string;
  address?: string;
  all?: boolean;
  json?: boolean;
}

/** The columns that `list` prints for each kind of entry. */
const columns: Readonly<Record<ControlledName, readonly string[]>> = {
  trash: ['id', 'deleted', 'account', 'size', 'path'],
  sessions: ['id', 'service', 'account', 'address', 'created', 'expires'],
  locks: ['id', 'path', 'depth', 'account', 'address', 'owner', 'expires'],
  bans: ['id', 'expires'],
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

/** Removes items of one kind from a running service. @returns 1 if the service does not have one of the IDs */
export async function remove(name: ControlledName, ids: readonly string[], options: ControlOptions): Promise<number> {
  const { account, address, all } = options;
  const isSelected = account !== undefined || address !== undefined;
  if ([ids.length > 0, isSelected, all].filter(Boolean).length !== 1)
    throw new ServiceError('bad-request', `Name the ${name} to remove: by ID, by a common property, or with --all.`);
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
  else print(`ended ${count(ended.length, 'item')} for good`);
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
  for (const id of missing) complain(`svc: the trash does not have ${visible(id)}`);
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

/** Formats items as aligned columns, with a header in capitals. */
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
