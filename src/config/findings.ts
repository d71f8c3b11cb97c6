import type { Finding, FindingCode } from './report-shapes.ts';

/** Thrown if a configuration has errors. No service starts with it. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly findings: readonly Finding[];
  /** The text of the file, used to show the faulty lines. */
  readonly source: string;

  constructor(findings: readonly Finding[], source: string) {
    super(`The configuration has ${countsText(findings)}.`);
    this.findings = findings;
    this.source = source;
  }
}

function countsText(findings: readonly Finding[]): string {
  const count = (severity: Finding['severity']) => findings.filter((finding) => finding.severity === severity).length;
  const [errors, warnings] = [count('error'), count('warning')];
  const told = errors === 1 ? 'an error' : `${errors} errors`;
  return warnings === 0 ? told : `${told} and ${warnings === 1 ? 'a warning' : `${warnings} warnings`}`;
}

type Add = (code: FindingCode, path: readonly PropertyKey[], message: string, hint?: string | (() => string | undefined)) => void;

/**
 * Collects the problems that a check finds, each with the path of the faulty option. A hint that takes long to compute is a function, which
 * is called only for the first problems.
 */
export type Report = Readonly<Record<Finding['severity'], Add>>;

/** Formats the path of an option, such as `services.web.triggers[0]`. */
export function pathText(path: readonly PropertyKey[]): string {
  return path.map((part, index) => (typeof part === 'number' ? `[${part}]` : index === 0 ? String(part) : `.${String(part)}`)).join('');
}

/** Compares findings by their position in the file. */
export function byPosition(a: Finding, b: Finding): number {
  return a.line - b.line || a.column - b.column;
}
