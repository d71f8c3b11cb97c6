import * as z from 'zod';
import { optionExamples } from './option-examples.ts';
import { configSchema } from './schema.ts';

/** The JSON Schema (2020-12) of what a configuration file may hold: both spellings of every option, with descriptions, defaults and examples. */
export function configJsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(configSchema, {
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      const { def } = zodSchema._zod;
      if (def.type === 'default') jsonSchema.default = asWritten((def as unknown as { defaultValue: unknown }).defaultValue);
    },
  });
  for (const [section, examples] of Object.entries(optionExamples))
    addExamples(schema.properties?.[section], examples, section === 'server');
  return { title: 'svc configuration', ...schema };
}

type Node = z.core.JSONSchema._JSONSchema | undefined;

/** Adds examples to the options of a section, in each of the kinds that its entries have. */
function addExamples(section: Node, examples: Readonly<Record<string, readonly unknown[]>>, isEntry: boolean): void {
  if (typeof section !== 'object') return;
  const entry = isEntry ? section : section.additionalProperties;
  if (typeof entry !== 'object') return;
  for (const kind of entry.oneOf ?? entry.anyOf ?? [entry]) {
    for (const [name, values] of Object.entries(examples)) {
      const option = typeof kind === 'object' ? kind.properties?.[name] : undefined;
      if (typeof option === 'object') option.examples = [...values] as z.core.JSONSchema.JSONSchema[];
    }
  }
}

/** A default in the spelling of a configuration file; the schema knows it in its normalised form. */
function asWritten(value: unknown): z.core.JSONSchema.JSONSchema['default'] {
  if (typeof value === 'object' && value !== null) {
    if ('include' in value) return '';
    if ('general' in value) return [value.general] as z.core.JSONSchema.JSONSchema['default'];
  }
  return value as z.core.JSONSchema.JSONSchema['default'];
}
