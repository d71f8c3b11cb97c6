/** One problem of a configuration. */
export interface Finding {
  severity: 'error' | 'warning';
  /** Stable, for scripts: `unknown-option`, `bad-value`, … */
  code: string;
  file: string;
  /** From 1; 0 when the problem has no place. */
  line: number;
  column: number;
  /** Path of the option, for example `services.web.port`. */
  path: string;
  message: string;
  hint?: string;
}

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

/** Writes an option's path the way people type it: `services.web.triggers[0]`. */
export function pathText(path: readonly PropertyKey[]): string {
  return path.map((part, index) => (typeof part === 'number' ? `[${part}]` : index === 0 ? String(part) : `.${String(part)}`)).join('');
}
