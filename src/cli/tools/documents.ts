import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { hashPassword } from '../../accounts/passwords.ts';
import starter from '../../config/reading/starter.yaml';
import { configJsonSchema } from '../../config/schema/json-schema.ts';
import { openapiYaml } from '../../http/rest/openapi.ts';
import { ServiceError, systemErrorCode } from '../../lib/errors.ts';
import { exitCode } from '../exit-codes.ts';
import { fileFault } from '../file-fault.ts';
import { complain, print } from '../output.ts';
import { askHidden, readLine } from '../prompt.ts';

/**
 * Writes the starter configuration, and prints the password of its account on stderr. The password is shown only once.
 *
 * @param file path, or `-` for stdout
 */
export async function init(file: string): Promise<number> {
  const password = randomBytes(12).toString('base64url');
  const text = starter.replace('SERVER_UUID', () => randomUUID()).replace('PASSWORD_HASH', await hashPassword(password));
  if (file === '-') {
    print(text.trimEnd());
    complain(`Account: admin   Password: ${password}`);
    return exitCode.done;
  }
  try {
    writeFileSync(file, text, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    const isThere = systemErrorCode(error) === 'EEXIST';
    const refusal = `${file} exists and is not overwritten; name another file, or - for stdout.`;
    throw new ServiceError('bad-request', isThere ? refusal : `Cannot write ${file}: ${fileFault('write', error)}.`, { cause: error });
  }
  writeSchema(join(dirname(file), 'svc.schema.json'));
  print(`${file} written. Next: svc validate ${file} && svc serve --config ${file}`);
  complain(`Account: admin   Password: ${password}`);
  return exitCode.done;
}

// Writes the JSON Schema for editors. All configurations in the folder share the file, so it may already exist. The schema of another
// version of svc is replaced. A file with other content is not changed.
function writeSchema(path: string): void {
  const schema = configJsonSchema();
  try {
    const present = JSON.parse(readFileSync(path, 'utf8')) as { title?: unknown };
    if (present.title !== schema.title) return;
  } catch (error) {
    if (systemErrorCode(error) !== 'ENOENT') return;
  }
  writeFileSync(path, `${JSON.stringify(schema, null, 2)}\n`);
}

/** Reads a password and prints its hash. */
export async function hashPasswordCommand(): Promise<number> {
  const password = process.stdin.isTTY ? await askTwice() : await readLine(process.stdin);
  if (password === '') throw new ServiceError('bad-request', 'The password is empty.');
  print(await hashPassword(password));
  return exitCode.done;
}

async function askTwice(): Promise<string> {
  const password = await askHidden('Password: ');
  if ((await askHidden('Again: ')) !== password) throw new ServiceError('bad-request', 'The passwords differ.');
  return password;
}

/** Prints the OpenAPI document. */
export async function openapi(options: { format: 'yaml' | 'json' }): Promise<number> {
  const document = await openapiYaml();
  print(options.format === 'json' ? JSON.stringify(parse(document), null, 2) : document.trimEnd());
  return exitCode.done;
}
