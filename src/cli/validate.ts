import { ConfigError, type Finding } from '../config/findings.ts';
import { lintConfig } from '../config/lint.ts';
import { type LoadedConfig, loadConfig } from '../config/load.ts';
import { exitCode } from './exit-codes.ts';
import { complainFindings, count, print } from './output.ts';

/** Options of `svc validate`. */
export interface ValidateOptions {
  online?: boolean;
  json?: boolean;
}

/** Checks a configuration. @returns 0 when it is valid, 1 when not */
export async function validate(file: string | undefined, options: ValidateOptions): Promise<number> {
  let loaded: LoadedConfig | undefined;
  let findings: readonly Finding[];
  let source = '';
  try {
    loaded = await loadConfig({ file, cwd: process.cwd(), env: process.env });
    source = loaded.source?.text ?? '';
    findings = lintConfig(loaded);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    findings = error.findings;
    source = error.source;
  }
  const valid = !findings.some((finding) => finding.severity === 'error');
  if (loaded && valid && options.online) {
    const { onlineFindings } = await import('../config/online.ts');
    findings = [...findings, ...(await onlineFindings(loaded))];
  }
  const passed = !findings.some((finding) => finding.severity === 'error');
  if (options.json) print(JSON.stringify({ valid: passed, file: loaded?.file ?? findings[0]?.file, findings }, null, 2));
  else {
    complainFindings(findings, source);
    if (passed && loaded) print(`${loaded.file} is valid: ${summary(loaded)}`);
  }
  return passed ? exitCode.done : exitCode.no;
}

function summary({ config }: LoadedConfig): string {
  return [
    count(Object.keys(config.services).length, 'service'),
    count(Object.keys(config.authentications).length, 'authentication method'),
    count(Object.keys(config.groups).length, 'group'),
    count(Object.keys(config.accounts).length, 'account'),
    count(Object.keys(config.event_handlers).length, 'event handler'),
  ].join(', ');
}
