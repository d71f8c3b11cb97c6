import { escapeXml } from '../../lib/xml/escape-xml.ts';

/** One test case of a JUnit report. */
export interface JunitCase {
  name: string;
  passed: boolean;
  message: string;
  duration_ms: number;
}

// A tester wants to see that there is something which XML cannot carry.
function attributeText(text: string): string {
  return escapeXml(text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd').toWellFormed());
}

/** A JUnit XML report, as CI systems read it. */
export function junitXml(suite: string, cases: readonly JunitCase[]): string {
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
