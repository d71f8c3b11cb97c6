import * as z from 'zod';
import type { Checked } from './check.ts';
import { type Finding, finding } from './finding.ts';
import { listedHostKey, listHostKeys } from './host-key-list.ts';

/** What came of the checks; names are those of `--json`. */
export const validation = z.strictObject({
  valid: z.boolean(),
  file: z.string(),
  findings: z.array(finding),
  host_keys: z.array(listedHostKey).exactOptional().describe('Host keys of the ssh services, where there are any.'),
});

export type Validation = z.infer<typeof validation>;

/**
 * Tells what the checks of a file found.
 *
 * @param options.findings in place of those of the file alone
 * @param options.strict whether warnings make it invalid, too
 */
export function validationOf(
  checked: Checked,
  { findings = [...checked.findings], strict = false }: { findings?: Finding[]; strict?: boolean | undefined } = {},
): Validation {
  const hostKeys = checked.loaded ? listHostKeys(checked.loaded.config) : [];
  return {
    valid: !findings.some(({ severity }) => severity === 'error' || strict),
    file: checked.file,
    findings,
    ...(hostKeys.length > 0 && { host_keys: hostKeys }),
  };
}
