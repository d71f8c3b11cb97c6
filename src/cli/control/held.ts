import { userInfo } from 'node:os';
import type { HeldAction, ShownItem } from '../../control/collection.ts';
import { askHeld, askService } from '../../control/control-socket.ts';
import { exitCode } from '../exit-codes.ts';
import { complain, count, print, visible } from '../output.ts';
import { type ServiceOptions, serviceFolder } from './service-folder.ts';

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

/** Formats an upload with one line for each value and each verdict. */
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

/** Releases or discards held uploads, or has them inspected again. @returns 1 if one of them failed */
export async function actOnHeld(action: HeldAction, ids: readonly string[], options: HeldOptions): Promise<number> {
  const results = await askHeld(await serviceFolder(options), action, ids, userInfo().username, options.reason);
  const failed = results.filter(({ error }) => error !== undefined);
  if (options.json) for (const result of results) print(JSON.stringify(result));
  else print(`${done[action]} ${count(results.length - failed.length, 'held upload')}`);
  for (const { id, error } of failed) complain(`svc: ${visible(id)}: ${visible(String(error))}`);
  return failed.length > 0 ? exitCode.no : exitCode.done;
}
