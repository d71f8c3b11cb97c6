import { configJsonSchema } from '../config/json-schema.ts';
import { exitCode } from './exit-codes.ts';
import { print } from './output.ts';

/** Prints the JSON Schema of the configuration. */
export async function schema(): Promise<number> {
  print(JSON.stringify(configJsonSchema(), null, 2));
  return exitCode.done;
}
