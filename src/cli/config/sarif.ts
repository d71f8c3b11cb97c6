import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Finding } from '../../config/report-shapes.ts';
import { type FindingCode, findingCodes } from '../../config/report-shapes.ts';

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
          message: { text: textOf(finding) },
          locations: [sarifLocation(finding)],
        })),
      },
    ],
  };
}

function sarifRule(code: FindingCode): Record<string, unknown> {
  return { id: code, shortDescription: { text: findingCodes[code] } };
}

function textOf({ path, message, hint }: Finding): string {
  return `${path === '' ? '' : `${path}: `}${message}${hint === undefined ? '' : ` (${hint})`}`;
}

function sarifLocation({ file, line, column }: Finding): Record<string, unknown> {
  const artifactLocation = { uri: isAbsolute(file) ? pathToFileURL(file).href : file };
  return { physicalLocation: { artifactLocation, ...(line > 0 ? { region: { startLine: line, startColumn: column } } : {}) } };
}
