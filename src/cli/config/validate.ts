import { checkConfigFile, requireConfigFile } from '../../config/check.ts';
import { workersFindings } from '../../config/lint/lint-state.ts';
import type { LoadedConfig } from '../../config/reading/load.ts';
import { servicesWithoutHostKeys, toValidation } from '../../config/validation.ts';
import { ServiceError } from '../../lib/errors.ts';
import { exitCode } from '../exit-codes.ts';
import { complainFindings } from '../findings-output.ts';
import { count, print } from '../output.ts';

/** Options of `svc validate`. */
export interface ValidateOptions {
  config?: string;
  online?: boolean;
  strict?: boolean;
  json?: boolean;
  sarif?: boolean;
  workers?: number;
}

/** Checks a configuration. @returns 0 if it is valid, otherwise 1 */
export async function validate(named: string | undefined, options: ValidateOptions): Promise<number> {
  if (options.json && options.sarif) throw new ServiceError('bad-request', '--json and --sarif cannot be used together.');
  const where = await requireConfigFile({ file: named ?? options.config, cwd: process.cwd(), env: process.env });
  const checked = checkConfigFile(where, process.env, { isFolderShared: (options.workers ?? 1) > 1, readsAccounts: true });
  const findings = [...checked.findings];
  if (checked.loaded && options.workers !== undefined) findings.push(...workersFindings(checked.loaded, options.workers));
  if (checked.loaded && options.online) {
    const { onlineFindings } = await import('../../config/online.ts');
    findings.push(...(await onlineFindings(checked.loaded)));
  }
  const result = toValidation(checked, { findings, strict: options.strict });
  const { valid, host_keys: hostKeys = [] } = result;
  if (options.sarif) {
    const { sarifLog } = await import('../findings-output.ts');
    print(JSON.stringify(sarifLog(findings), null, 2));
  } else if (options.json) {
    print(JSON.stringify(result, null, 2));
  } else {
    complainFindings(findings, checked.text);
    if (valid && checked.loaded) print(`${checked.file} is valid: ${summary(checked.loaded)}`);
    for (const { service, type, fingerprint } of hostKeys) print(`host key of ${service}: ${fingerprint} (${type})`);
    for (const service of checked.loaded ? servicesWithoutHostKeys(checked.loaded.config, hostKeys) : [])
      print(`host keys of ${service}: its first start creates them; after that, this command prints their fingerprints`);
  }
  return valid ? exitCode.done : exitCode.no;
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
