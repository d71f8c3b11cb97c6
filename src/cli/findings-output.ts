import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import { maskedSource } from '../config/reading/masked-source.ts';
import { type Finding, type FindingCode, findingCodes } from '../config/report-shapes.ts';
import { complain, count, paint } from './output.ts';

/** Maximum length of a source line in characters. No part of a longer line is shown. */
const maxShownLine = 1024 * 1024;

/** Formats a finding like a compiler message: place, severity and code, path, message, then the line with a caret. */
export function findingText(finding: Finding, lines: readonly string[], stream: NodeJS.WriteStream): string {
  const place = finding.line > 0 ? `${finding.file}:${finding.line}:${finding.column}` : finding.file;
  const label = paint(stream, finding.severity === 'error' ? 'red' : 'yellow', `${finding.severity}[${finding.code}]`);
  const path = finding.path === '' ? '' : `${finding.path}: `;
  const hint = finding.hint ? ` (${finding.hint})` : '';
  return `${place}: ${label}: ${path}${finding.message}${hint}${excerpt(finding, lines, stream)}`;
}

/** Returns the lines of a configuration that are shown with findings. Secrets are masked. */
export function excerptLines(source: string): string[] {
  return maskedSource(source).split(/\r?\n/);
}

/**
 * Returns the line of a finding, with a caret below its column. Of a long line, only the part around the column is shown. Control
 * characters become blanks.
 */
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

/** Converts findings to a SARIF 2.1.0 log (OASIS sarif-v2.1.0, §3). Code hosts show such findings next to the source lines. */
export function sarifLog(findings: readonly Finding[]): Record<string, unknown> {
  const codes = [...new Set(findings.map(({ code }) => code))].sort();
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'svc validate', version: SVC_VERSION, rules: codes.map(sarifRule) } },
        columnKind: 'utf16CodeUnits',
        results: findings.map((finding) => ({
          ruleId: finding.code,
          ruleIndex: codes.indexOf(finding.code),
          level: finding.severity,
          message: { text: describeFinding(finding) },
          locations: [sarifLocation(finding)],
        })),
      },
    ],
  };
}

function sarifRule(code: FindingCode): Record<string, unknown> {
  return { id: code, shortDescription: { text: findingCodes[code] } };
}

function describeFinding({ path, message, hint }: Finding): string {
  return `${path === '' ? '' : `${path}: `}${message}${hint === undefined ? '' : ` (${hint})`}`;
}

function sarifLocation({ file, line, column }: Finding): Record<string, unknown> {
  const artifactLocation = { uri: isAbsolute(file) ? pathToFileURL(file).href : file };
  return { physicalLocation: { artifactLocation, ...(line > 0 ? { region: { startLine: line, startColumn: column } } : {}) } };
}
