import type { Finding } from './finding.ts';
import type { FindingCode } from './finding-codes.ts';

/** A configuration with errors: nothing is started with it. */
export class ConfigError extends Error {
  readonly findings: readonly Finding[];
  /** The text of the file, for showing the line at fault. */
  readonly source: string;

  constructor(findings: readonly Finding[], source: string) {
    super(`The configuration has ${findings.length === 1 ? 'an error' : `${findings.length} errors`}.`);
    this.findings = findings;
    this.source = source;
  }
}

/** Takes one problem of a check; the path is that of the option at fault. A hint that takes long to find is a function, asked for some problems only. */
export type Report = (
  severity: Finding['severity'],
  code: FindingCode,
  path: readonly PropertyKey[],
  message: string,
  hint?: string | (() => string | undefined),
) => void;

/** Writes an option's path the way people type it: `services.web.triggers[0]`. */
export function pathText(path: readonly PropertyKey[]): string {
  return path.map((part, index) => (typeof part === 'number' ? `[${part}]` : index === 0 ? String(part) : `.${String(part)}`)).join('');
}

/** Puts findings in the order of the file. */
export function byPlace(a: Finding, b: Finding): number {
  return a.line - b.line || a.column - b.column;
}
