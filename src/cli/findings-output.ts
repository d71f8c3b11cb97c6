import { maskedSource } from '../config/reading/masked-source.ts';
import type { Finding } from '../config/report-shapes.ts';
import { complain, count, paint } from './output.ts';

/** Longest line that is shown in part. */
const maxShownLine = 1024 * 1024;

/** Formats a finding the way compilers do: place, severity and code, path, message, then the line with a caret. */
export function findingText(finding: Finding, lines: readonly string[], stream: NodeJS.WriteStream): string {
  const place = finding.line > 0 ? `${finding.file}:${finding.line}:${finding.column}` : finding.file;
  const label = paint(stream, finding.severity === 'error' ? 'red' : 'yellow', `${finding.severity}[${finding.code}]`);
  const path = finding.path === '' ? '' : `${finding.path}: `;
  const hint = finding.hint ? ` (${finding.hint})` : '';
  return `${place}: ${label}: ${path}${finding.message}${hint}${excerpt(finding, lines, stream)}`;
}

/** The lines of a configuration that are shown with findings, without their secrets. */
export function excerptLines(source: string): string[] {
  return maskedSource(source).split(/\r?\n/);
}

/** The line at fault with a mark below. A long line is cut around its column, and control characters become blanks. */
function excerpt({ line: number, column }: Finding, lines: readonly string[], stream: NodeJS.WriteStream): string {
  const line = lines[number - 1];
  if (line === undefined || line.trim() === '' || line.length > maxShownLine) return '';
  const start = Math.max(0, column - 60);
  const shown = line.slice(start, start + 100).replace(/[\u0000-\u001f\u007f-\u009f]/g, ' ');
  return `\n    ${shown}\n    ${' '.repeat(column - 1 - start)}${paint(stream, 'cyan', '^')}`;
}

/** Prints all findings on stderr, then their count. */
export function complainFindings(findings: readonly Finding[], source: string): void {
  if (findings.length === 0) return;
  const lines = excerptLines(source);
  for (const finding of findings) complain(findingText(finding, lines, process.stderr));
  const errors = findings.filter((finding) => finding.severity === 'error').length;
  complain(`${count(errors, 'error')}, ${count(findings.length - errors, 'warning')}`);
}
