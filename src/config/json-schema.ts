import { z } from 'zod';
import { configSchema } from './schema.ts';

/** The JSON Schema (2020-12) of what a configuration file may hold: both spellings of every option, with descriptions and defaults. */
export function configJsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(configSchema, {
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      const { def } = zodSchema._zod;
      if (def.type === 'default') jsonSchema.default = asWritten((def as unknown as { defaultValue: unknown }).defaultValue);
    },
  });
  return { title: 'svc configuration', ...schema };
}

/** A default in the spelling of a configuration file; the schema knows it in its normalised form. */
function asWritten(value: unknown): z.core.JSONSchema.JSONSchema['default'] {
  if (typeof value === 'object' && value !== null) {
    if ('include' in value) return '';
    if ('general' in value) return [value.general] as z.core.JSONSchema.JSONSchema['default'];
  }
  return value as z.core.JSONSchema.JSONSchema['default'];
}
