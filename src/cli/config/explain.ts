import type { CredentialKind } from '../../accounts/credential-kinds.ts';
import { checkQuestion, decide } from '../../config/cases/decision.ts';
import { keptToken } from '../../config/cases/kept-token.ts';
import { requireConfigFile } from '../../config/check.ts';
import { parseConfig } from '../../config/reading/load.ts';
import { readSource } from '../../config/reading/source.ts';
import type { Decision } from '../../config/report-shapes.ts';
import { ServiceError } from '../../lib/errors.ts';
import { exitCode } from '../exit-codes.ts';
import { paint, print, visible } from '../output.ts';
import { readSecretOption } from '../prompt.ts';

/** Options of `svc explain`. */
export interface ExplainOptions {
  config?: string;
  user?: string;
  group?: string;
  destination?: string;
  service?: string;
  credentials?: CredentialKind[];
  token?: string;
  json?: boolean;
}

/** Explains step by step how the configuration decides about a request. @returns 0 if the request is allowed, otherwise 1 */
export async function explain(method: string, path: string | undefined, options: ExplainOptions): Promise<number> {
  const config = parseConfig(
    readSource(await requireConfigFile({ file: options.config, cwd: process.cwd(), env: process.env })),
    process.env,
  );
  const { group, destination, service, credentials } = options;
  const token = options.token === undefined ? undefined : keptToken(config.server.data_folder_path, await readSecretOption(options.token));
  const user = options.user ?? token?.grant.account.name;
  if (user === undefined)
    throw new ServiceError('bad-request', '--user is missing; name the account, or give one of its tokens with --token.');
  const question = checkQuestion({ user, group, method, path, destination, service, credentials, token });
  const decision = decide(config, question);
  print(options.json ? JSON.stringify(decision, null, 2) : decisionText(decision));
  return decision.allowed ? exitCode.done : exitCode.no;
}

function decisionText({ steps, allowed, status, reason }: Decision): string {
  const width = Math.max(...steps.map(({ step }) => step.length));
  const lines = steps.map(({ step, ok, text }) => {
    const mark = ok ? paint(process.stdout, 'green', '+') : paint(process.stdout, 'red', '-');
    return `${mark} ${step.padEnd(width)}  ${visible(text)}`;
  });
  const outcome = allowed
    ? paint(process.stdout, 'green', 'allowed')
    : `${paint(process.stdout, 'red', 'refused')}${status === null ? '' : ` (${status})`}: ${visible(reason ?? '')}`;
  return [...lines, outcome].join('\n');
}
