import type { CredentialKind, RequiredCredentials } from '../../accounts/credential-kinds.ts';
import { isOffered, methodsOffered, sufficiency } from '../../ssh/required-credentials.ts';
import type { LoginReport } from '../report-shapes.ts';

/** The answer about one credential. If it is refused: the reason. Otherwise: the group of the account, and what this group requires. */
export type Acceptance = { group: string; required: RequiredCredentials } | { refusal: string };

/**
 * Determines step by step how a login over SSH would proceed.
 *
 * @param required the requirements of all groups of the service
 * @param answers the answers about the credentials, in the order in which the client presents them
 */
export function followLogin(
  service: string,
  required: ReadonlySet<RequiredCredentials>,
  answers: readonly (readonly [CredentialKind, Acceptance])[],
): LoginReport {
  const report: LoginReport = { service, required_credentials: null, offered: methodsOffered(required), credentials: [] };
  let first: CredentialKind | undefined;
  for (const [type, answer] of answers) {
    if ('required' in answer) report.required_credentials ??= answer.required;
    const made = decideOutcome(required, type, answer, first);
    if (made.outcome === 'partial') first = type;
    report.credentials.push({ type, ...made, offered: made.outcome === 'granted' ? [] : methodsOffered(required, first) });
    if (made.outcome === 'granted') break;
  }
  return report;
}

const names: Readonly<Record<CredentialKind, string>> = { 'ssh-key': 'key', password: 'password' };

function decideOutcome(
  required: ReadonlySet<RequiredCredentials>,
  type: CredentialKind,
  answer: Acceptance,
  first: CredentialKind | undefined,
): Pick<LoginReport['credentials'][number], 'outcome' | 'reason'> {
  const name = names[type];
  if (!isOffered(required, type, first))
    return {
      outcome: 'refused',
      reason: first ? `after a ${name}, only the other kind of credential is accepted` : `no group accepts a ${name}`,
    };
  if ('refusal' in answer) return { outcome: 'refused', reason: answer.refusal };
  const requirement = `the group "${answer.group}" requires ${answer.required}`;
  switch (sufficiency(answer.required, type, first)) {
    case 'wrong-kind':
      return { outcome: 'refused', reason: requirement };
    case 'first-of-two':
      return { outcome: 'partial', reason: `the ${name} is accepted as the first of two: ${requirement}` };
    default:
      return { outcome: 'granted', reason: `the ${name} is accepted${first ? ' as the second of two' : ''}` };
  }
}
