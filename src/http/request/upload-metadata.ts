import { ServiceError } from '../../lib/errors.ts';
import { compileExpression } from '../../lib/expression.ts';
import { latin1ToUtf8 } from '../../lib/headers/header-fields.ts';
import { parseKeyValueList } from '../../lib/list-values.ts';
import type { MetadataFields } from '../options.ts';
import { type Exchange, header } from './exchange.ts';

/** Maximum of `X-OC-Mtime`, the end of the year 9999, as Unix time in seconds. */
const latestTimeS = 253_402_300_799;

/** Returns `X-OC-Mtime` as Unix time in milliseconds; undefined without the header. @throws ServiceError `bad-request` */
export function requestedModificationTime(exchange: Exchange): number | undefined {
  const text = header(exchange, 'x-oc-mtime');
  if (text === undefined) return undefined;
  const seconds = Number(text);
  if (!/^\d+(\.\d+)?$/.test(text) || seconds > latestTimeS)
    throw new ServiceError('bad-request', 'X-OC-Mtime is not a Unix time in seconds.');
  return seconds * 1000;
}

/**
 * Reads the configured upload metadata (docs/spec/files.md#upload-metadata).
 *
 * @param formValue metadata from a form, used only if there is no header
 * @returns each key with its values in order; undefined without metadata
 * @throws ServiceError `metadata-invalid` for a malformed or undeclared item, or if a required one is missing
 */
export function uploadMetadata(exchange: Exchange, formValue?: string): Record<string, string[]> | undefined {
  const fields = exchange.service.options.metadata_fields;
  if (!fields) return undefined;
  const value = header(exchange, fields.header.toLowerCase());
  const text = value === undefined ? formValue : latin1ToUtf8(value);
  if (value !== undefined && text === undefined) throw new ServiceError('metadata-invalid', 'The metadata header is not valid UTF-8.');
  return parseMetadata(fields, text);
}

/** Does the same as `uploadMetadata` for a value that was already read. */
export function parseMetadata(fields: MetadataFields, value: string | undefined): Record<string, string[]> | undefined {
  if (value === undefined) {
    if (fields.required) throw new ServiceError('metadata-invalid', `The header "${fields.header}" is required.`);
    return undefined;
  }
  const metadata = new Map<string, string[]>();
  for (const { key, value: item } of parseKeyValueList(value)) {
    const values = metadata.get(key);
    if (values) values.push(item);
    else metadata.set(key, [item]);
  }
  checkKeys(fields, [...metadata.keys()]);
  // An object literal would lose a key named `__proto__`.
  return Object.fromEntries(metadata);
}

function checkKeys(fields: MetadataFields, keys: readonly string[]): void {
  if (fields.keys.length === 0) return;
  const patterns = fields.keys.map((key) => ({ ...key, expression: compileExpression(key.pattern) }));
  for (const key of keys) {
    if (!patterns.some(({ expression }) => expression.matches(key))) {
      throw new ServiceError(
        'metadata-invalid',
        `The header "${fields.header}" has the key "${key}", which metadata_fields does not list.`,
      );
    }
  }
  for (const { pattern, required, expression } of patterns) {
    if (required && !keys.some((key) => expression.matches(key))) {
      throw new ServiceError('metadata-invalid', `The header "${fields.header}" lacks the required key "${pattern}".`);
    }
  }
}
