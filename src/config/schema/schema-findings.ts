import * as z from 'zod';
import { didYouMean, nearestName } from '../../lib/nearest-name.ts';
import { pathText } from '../findings.ts';
import { isHidden } from '../reading/masked-source.ts';
import type { Source } from '../reading/source.ts';
import type { Finding, FindingCode } from '../report-shapes.ts';
import { configSchema } from './schema.ts';

/** Creates a finding at the position of an option. */
export function findingAt(
  source: Source,
  path: readonly PropertyKey[],
  code: FindingCode,
  message: string,
  what: 'key' | 'value' = 'value',
): Finding {
  return { severity: 'error', code, file: source.file, ...source.locate(path, what), path: pathText(path), message };
}

/**
 * Converts a schema issue to findings. If a map has several unknown keys, there are several findings.
 *
 * @param prefix path of the option to which the issue's own path is relative
 * @param secretPaths paths whose values come from variables; these values are not shown
 */
export function issueFindings(
  source: Source,
  value: unknown,
  issue: z.core.$ZodIssue,
  prefix: readonly PropertyKey[],
  secretPaths: ReadonlySet<string>,
): Finding[] {
  const path = [...prefix, ...issue.path];
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey(source, value, path, key));
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const nested = bestBranch(issue.errors);
    // If the best branch found a problem inside the value, its message is more precise than the union's own message.
    if (nested.some((inner) => inner.path.length > 0 || inner.code === 'unrecognized_keys')) {
      return nested.flatMap((inner) => issueFindings(source, value, inner, path, secretPaths));
    }
  }
  if (issue.code === 'invalid_key') {
    const key = path.at(-1);
    const reason = issue.issues[0]?.message ?? 'is not allowed';
    return [findingAt(source, path, 'bad-key', `the key "${String(key)}" ${reason}`, 'key')];
  }
  const actual = valueAt(value, path);
  if (actual === undefined && issue.code !== 'custom')
    return [findingAt(source, path, 'missing-option', `is required: ${expectation(issue)}`, 'key')];
  if (secretPaths.has(path.join('\0')))
    return [findingAt(source, path, 'bad-value', `${expectation(issue)} (the value comes from \${…} and is not shown)`)];
  const finding = findingAt(source, path, 'bad-value', expectation(issue));
  const hint = nearestChoice(issue, actual);
  return [hint === undefined ? finding : { ...finding, hint }];
}

/** Suggests the allowed value that was probably meant. @returns undefined if no value is similar */
function nearestChoice(issue: z.core.$ZodIssue, actual: unknown): string | undefined {
  const { given = actual, known } = choices(issue);
  return typeof given === 'string' && known && known.length > 1 ? didYouMean(given, known) : undefined;
}

function choices(issue: z.core.$ZodIssue): { given?: unknown; known?: readonly string[] } {
  if (issue.code === 'custom') return issue.params ?? {};
  if (issue.code === 'invalid_value') return { known: issue.values.map(String) };
  return issue.code === 'invalid_union' && 'options' in issue && issue.options ? { known: issue.options.map(String) } : {};
}

function expectation(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type')
    return `must be a ${issue.expected === 'record' || issue.expected === 'object' ? 'map' : issue.expected}`;
  return issue.message;
}

function bestBranch(branches: readonly (readonly z.core.$ZodIssue[])[]): readonly z.core.$ZodIssue[] {
  const depth = (issues: readonly z.core.$ZodIssue[]) => Math.max(...issues.map((issue) => issue.path.length));
  return branches.toSorted((a, b) => depth(b) - depth(a) || a.length - b.length)[0] ?? [];
}

function unknownKey(source: Source, value: unknown, path: readonly PropertyKey[], key: string): Finding {
  const known = knownKeys(value, path);
  const nearest = nearestName(key, known);
  if (isHidden(source, source.locate([...path, key], 'key'))) {
    const message = 'unknown option, whose name is not shown: it may be the end of the secret before it';
    const finding = findingAt(source, [...path, key], 'unknown-option', message, 'key');
    return { ...finding, path: pathText(path), hint: 'put a text that contains ", " in quotes' };
  }
  const finding = findingAt(source, [...path, key], 'unknown-option', `unknown option "${key}"`, 'key');
  return { ...finding, hint: nearest ? `did you mean "${nearest}"?` : `the options here are ${known.join(', ')}` };
}

/** Lists the option names that the schema knows at a path. */
function knownKeys(value: unknown, path: readonly PropertyKey[]): string[] {
  let schema: z.core.$ZodType | undefined = configSchema;
  for (const [index, part] of path.entries()) schema = schema && memberSchema(unwrap(schema, valueAt(value, path.slice(0, index))), part);
  const object = schema && unwrap(schema, valueAt(value, path));
  return object instanceof z.ZodObject ? Object.keys(object.shape) : [];
}

function memberSchema(schema: z.core.$ZodType, part: PropertyKey): z.core.$ZodType | undefined {
  if (schema instanceof z.ZodObject) return schema.shape[String(part)] as z.core.$ZodType | undefined;
  return schema instanceof z.ZodRecord ? schema.valueType : undefined;
}

/** Unwraps defaults and transforms, and selects the branch of a union by the `type` of the value. */
function unwrap(schema: z.core.$ZodType, value: unknown): z.core.$ZodType {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional)
    return unwrap(schema.unwrap() as z.core.$ZodType, value);
  if (schema instanceof z.ZodLazy) return unwrap(schema.unwrap() as z.core.$ZodType, value);
  if (schema instanceof z.ZodPipe) return unwrap(schema.in as z.core.$ZodType, value);
  if (schema instanceof z.ZodDiscriminatedUnion) {
    const type = (value as { type?: unknown } | undefined)?.type;
    const options = (schema.options as readonly z.core.$ZodType[]).map((option) => unwrap(option, value)) as z.ZodObject[];
    return options.find((option) => (option.shape.type as z.ZodLiteral | undefined)?.value === type) ?? (options[0] as z.ZodObject);
  }
  return schema;
}

/** Returns the member at a path. Inherited members are ignored. */
export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let current = value;
  for (const part of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, part)) return undefined;
    current = (current as Record<PropertyKey, unknown>)[part];
  }
  return current;
}
