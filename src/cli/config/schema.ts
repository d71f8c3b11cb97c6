import * as z from 'zod';
import { casesSchema } from '../../config/cases/case-file.ts';
import { configJsonSchema } from '../../config/schema/json-schema.ts';
import { exitCode } from '../exit-codes.ts';
import { print } from '../output.ts';
import { jsonOutputs } from '../tools/json-outputs.ts';

/** Prints a JSON Schema: of the configuration, of the cases of `svc test`, or of what a command prints with `--json`. */
export async function schema(what: string): Promise<number> {
  print(JSON.stringify(schemaOf(what), null, 2));
  return exitCode.done;
}

function schemaOf(what: string): Record<string, unknown> {
  if (what === 'config') return configJsonSchema();
  if (what === 'cases') return { title: 'svc test cases', ...z.toJSONSchema(casesSchema, { io: 'input', unrepresentable: 'any' }) };
  return { title: `svc ${what}`, ...z.toJSONSchema(jsonOutputs[what as keyof typeof jsonOutputs]) };
}
