import { excerptLines, findingText } from '../../src/cli/findings-output.ts';
import { checkSource } from '../../src/config/check.ts';
import { ConfigError } from '../../src/config/findings.ts';
import { parseSource } from '../../src/config/reading/source.ts';

/** Makes all checks of `svc validate`. Returns everything that it would print. */
export function checkedConfig(text: string): string {
  let findings: ConfigError['findings'];
  try {
    findings = checkSource(parseSource('/x/svc.config.yaml', text), {}).findings;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    findings = error.findings;
  }
  const excerpts = excerptLines(text);
  return findings.map((finding) => findingText(finding, excerpts, process.stderr)).join('\n');
}
