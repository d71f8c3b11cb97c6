import { parse } from 'yaml';
import { openapiYaml } from '../../http/rest/openapi.ts';
import { exitCode } from '../exit-codes.ts';
import { print } from '../output.ts';

/** Prints the OpenAPI document. */
export async function openapi(options: { format: 'yaml' | 'json' }): Promise<number> {
  const document = await openapiYaml();
  print(options.format === 'json' ? JSON.stringify(parse(document), null, 2) : document.trimEnd());
  return exitCode.done;
}
