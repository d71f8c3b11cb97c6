import { excerptLines, findingText } from '../../src/cli/findings-output.ts';
import { checkSource } from '../../src/config/check.ts';
import { ConfigError } from '../../src/config/findings.ts';
import { parseSource } from '../../src/config/reading/source.ts';
import type { Finding } from '../../src/config/report-shapes.ts';
import { goldenTests } from '../support/golden.ts';

const env = { PORT: '81', SECRET: 'hunter2' };

goldenTests('validate', (input) => {
  const findings = (): readonly Finding[] => {
    try {
      return checkSource(parseSource('/nowhere/svc.config.yaml', input), env).findings;
    } catch (error) {
      if (error instanceof ConfigError) return error.findings;
      throw error;
    }
  };
  const texts = findings().map((finding) => findingText(finding, excerptLines(input), { isTTY: false } as NodeJS.WriteStream));
  return texts.length === 0 ? 'nothing found\n' : `${texts.join('\n')}\n`;
});
