import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { orderOfService } from '../../control/control-socket.ts';
import { exitCode } from '../exit-codes.ts';
import { print } from '../output.ts';
import { type ServiceOptions, serviceFolder } from './service-folder.ts';

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
  const password = passwordFile === undefined ? undefined : firstLineOf(passwordFile);
  const order = { path, kind, expires, password, maximum_downloads: downloads, note };
  const given = { by: userInfo().username, account, service, order };
  const [made] = await orderOfService(await serviceFolder(options), 'create-link', given);
  print(json ? JSON.stringify(made) : String((made as { url?: unknown } | undefined)?.url));
  return exitCode.done;
}

// Everybody on the machine can see a password among the arguments.
function firstLineOf(file: string): string {
  return readFileSync(file === '-' ? 0 : file, 'utf8').split(/\r?\n/, 1)[0] ?? '';
}
