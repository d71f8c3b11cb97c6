import { escapeXml } from '../lib/xml/xml-writer.ts';
import { writeNamedFile } from './file-fault.ts';
import { count, paint, print } from './output.ts';

interface ReportedCase {
  name: string;
  passed: boolean;
  message: string;
  duration_ms: number;
}

/** Returns the first column of a case's line: `ok` or `FAIL`. */
export function verdict(passed: boolean): string {
  return passed ? paint(process.stdout, 'green', 'ok  ') : paint(process.stdout, 'red', 'FAIL');
}

/** Writes the JUnit report if `junit` names a file, and prints the totals unless `json` is set. @returns whether all cases passed */
export function reportCases(suite: string, cases: readonly ReportedCase[], { junit, json }: { junit?: string; json?: boolean }): boolean {
  const failed = cases.filter(({ passed }) => !passed).length;
  if (junit) writeNamedFile(`Cannot write ${junit}`, junit, junitXml(suite, cases));
  if (!json) print(`${count(cases.length - failed, 'case')} passed, ${failed} failed`);
  return failed === 0;
}

/** Renders the results as JUnit XML for CI systems. */
function junitXml(suite: string, cases: readonly ReportedCase[]): string {
  const seconds = (ms: number) => (ms / 1000).toFixed(3);
  const failures = cases.filter((item) => !item.passed).length;
  const total = seconds(cases.reduce((sum, item) => sum + item.duration_ms, 0));
  const lines = cases.map((item) => {
    const head = `    <testcase classname="${attributeText(suite)}" name="${attributeText(item.name)}" time="${seconds(item.duration_ms)}"`;
    return item.passed ? `${head}/>` : `${head}>\n      <failure message="${attributeText(item.message)}"/>\n    </testcase>`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="${cases.length}" failures="${failures}" time="${total}">
  <testsuite name="${attributeText(suite)}" tests="${cases.length}" failures="${failures}" time="${total}">
${lines.join('\n')}
  </testsuite>
</testsuites>
`;
}

// Puts U+FFFD in place of each character that XML does not allow, so that the tester sees where the character was.
function attributeText(text: string): string {
  return escapeXml(text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd').toWellFormed());
}
