import { z } from 'zod';
import { configSchema } from './schema.ts';

/** The JSON Schema (2020-12) of what a configuration file may hold: both spellings of every option, with descriptions and defaults. */
export function configJsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any', reused: 'ref' });
  return { title: 'svc configuration', ...schema };
}
