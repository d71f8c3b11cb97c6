import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { type Document, isMap, isNode, type LineCounter } from 'yaml';
import { readingFault } from '../../lib/disk/named-file.ts';
import { ServiceError } from '../../lib/errors.ts';
import { deepestNesting, KeyIndex, parseYaml, plainValue } from '../../lib/yaml-document.ts';
import { ConfigError } from '../findings.ts';
import type { Finding, FindingCode } from '../report-shapes.ts';

/** Maximum size of a configuration file in bytes. */
const maxFileBytes = 4 * 1024 * 1024;

/** A parsed configuration file that knows the positions of its options. */
export interface Source {
  file: string;
  text: string;
  value: unknown;
  /** Finds the line and column of an option, or of its nearest parent that exists. Both are counted from 1. */
  locate(path: readonly PropertyKey[], what: 'key' | 'value'): { line: number; column: number };
}

/** The file name that stands for stdin. */
export const stdinName = '-';

/**
 * Reads a configuration file in YAML or JSON, or the `svc` member of a `package.json`.
 *
 * @param file path, or `-` for stdin
 * @param mayWait whether a pipe may be read; reading blocks the process until another process writes to the pipe
 * @throws ServiceError `bad-request` if the file cannot be read; ConfigError if it does not parse
 */
export function readSource(file: string, mayWait = true): Source {
  const isStdin = file === stdinName;
  const name = isStdin ? resolve('stdin') : file;
  let bytes: Buffer;
  try {
    const stats = isStdin ? undefined : statSync(file);
    if (stats?.isDirectory()) throw new ServiceError('bad-request', `${file} is a folder, not a configuration file.`);
    if (stats && !stats.isFile() && !mayWait)
      throw new ServiceError('bad-request', `${file} is a pipe or a device: it is read at the start, and a reload cannot read it again.`);
    // The size is checked before reading, so that a huge file is not loaded into memory.
    if (stats && stats.size > maxFileBytes) throw tooLarge(name);
    bytes = isStdin ? readBounded(0) : readFile(file);
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    const reason = readingFault(file, error);
    throw new ServiceError('bad-request', `Cannot read the configuration ${isStdin ? 'from stdin' : file}: ${reason}.`, { cause: error });
  }
  if (bytes.length > maxFileBytes) throw tooLarge(name);
  return parseSource(name, decode(name, bytes));
}

function readFile(file: string): Buffer {
  const fd = openSync(file, 'r');
  try {
    return readBounded(fd);
  } finally {
    closeSync(fd);
  }
}

/** Reads up to the end, but at most one byte more than the maximum size, because a device such as `/dev/zero` has no end. */
function readBounded(fd: number): Buffer {
  const chunks: Buffer[] = [];
  for (let left = maxFileBytes + 1; left > 0; ) {
    const chunk = Buffer.allocUnsafe(Math.min(left, 64 * 1024));
    const count = readSync(fd, chunk);
    if (count === 0) break;
    chunks.push(chunk.subarray(0, count));
    left -= count;
  }
  return Buffer.concat(chunks);
}

function tooLarge(file: string): ServiceError {
  const advice =
    'Move the accounts to a separate file, which has no such limit (accounts_file_path of an authentication method of type application)';
  return new ServiceError('bad-request', `${file} is larger than ${maxFileBytes / 1024 / 1024} MiB. ${advice}.`);
}

function decode(file: string, bytes: Buffer): string {
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  try {
    return utf8.decode(bytes);
  } catch {
    const text = bytes.toString('utf8');
    const line = text.slice(0, text.indexOf('\ufffd')).split('\n').length;
    const isUtf16 = bytes.length >= 2 && [0xfeff, 0xfffe].includes(bytes.readUInt16BE(0));
    const hint = isUtf16 ? 'it looks like UTF-16; save it as UTF-8' : 'save it as UTF-8';
    const message = 'The file is not valid UTF-8.';
    // The error has no source text, because bytes that are not text must not be printed.
    throw new ConfigError([{ severity: 'error', code: 'not-utf8', file, line, column: 1, path: '', message, hint }], '');
  }
}

/** Reports the first fault of a text as JSON. A message that quotes the text, which may be a secret, is left out. */
function refuseAsJson(text: string, refuse: (code: FindingCode, message: string, line: number, column: number) => never): void {
  try {
    JSON.parse(text);
  } catch (error) {
    const [, reason, position] = /^(.+) in JSON at position (\d+)/.exec((error as SyntaxError).message) ?? [];
    if (reason === undefined) return;
    const before = text.slice(0, Number(position)).split('\n');
    refuse('syntax', `This is not valid JSON: ${reason}.`, before.length, (before.at(-1)?.length ?? 0) + 1);
  }
}

/** Parses a configuration text. @throws ConfigError if it does not parse */
export function parseSource(file: string, text: string): Source {
  const refuse = (code: FindingCode, message: string, line = 1, column = 1): never => {
    throw new ConfigError([{ severity: 'error', code, file, line, column, path: '', message }], text);
  };
  const { document, lines, problems } = parseYaml(text.replace(/^\ufeff/, ''));
  const findings = problems.map((problem): Finding => ({ severity: 'error', file, path: '', ...problem }));
  if (!document && file.endsWith('.json')) refuseAsJson(text, refuse);
  if (!document) throw new ConfigError(findings, text);
  const prefix = basename(file) === 'package.json' ? ['svc'] : [];
  let value: unknown;
  try {
    value = plainValue(document);
  } catch (error) {
    refuse('aliases', (error as Error).message);
  }
  if (prefix.length > 0) value = (value as Record<string, unknown> | null)?.svc;
  const index = new KeyIndex();
  const locateIn = (path: readonly PropertyKey[], what: 'key' | 'value') => locate(document, lines, index, [...prefix, ...path], what);
  checkShape(value, [], (path, message) => {
    const { line, column } = locateIn(path, 'key');
    refuse('shape', message, line, column);
  });
  return { file, text, value: value ?? {}, locate: locateIn };
}

function checkShape(value: unknown, path: string[], refuse: (path: string[], message: string) => void): void {
  if (typeof value !== 'object' || value === null) return;
  if (path.length > deepestNesting) {
    refuse(path, `Lists and maps are nested deeper than ${deepestNesting} levels.`);
    return;
  }
  for (const [key, member] of Object.entries(value)) {
    // Code that copies a member with this key sets the prototype of the copy.
    if (key === '__proto__') refuse(path, 'The key "__proto__" is not allowed.');
    checkShape(member, [...path, key], refuse);
  }
}

function locate(
  document: Document,
  lines: LineCounter,
  keys: KeyIndex,
  path: readonly PropertyKey[],
  what: 'key' | 'value',
): { line: number; column: number } {
  let node: unknown = document.contents;
  let offset = isNode(node) ? (node.range?.[0] ?? 0) : 0;
  for (const [index, part] of path.entries()) {
    const isLast = index === path.length - 1;
    if (isMap(node)) {
      const pair = keys.find(node, part);
      if (!pair) break;
      const at = isLast && what === 'key' ? pair.key : (pair.value ?? pair.key);
      if (isNode(at) && at.range) offset = at.range[0];
      if (!isLast && isNode(pair.key) && pair.key.range) offset = pair.key.range[0];
      node = pair.value;
    } else {
      const item = isNode(node) && 'items' in node ? (node.items as unknown[])[Number(part)] : undefined;
      if (!isNode(item) || !item.range) break;
      offset = item.range[0];
      node = item;
    }
  }
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
}
