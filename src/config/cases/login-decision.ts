import type { LocalAccount } from '../../accounts/account.ts';
import { withDefaultGroup } from '../../accounts/options.ts';
import { methodsInForce } from '../../auth/options.ts';
import type { SshServiceOptions } from '../../ssh/options.ts';
import { keyLineFault } from '../../ssh/public-key-fault.ts';
import { type CredentialKind, credentialKinds, requiredByGroups } from '../../ssh/required-credentials.ts';
import type { Config } from '../schema/schema.ts';
import { accountInForce, localAccount } from './account-in-force.ts';
import { type Decision, type Note, Refused } from './decision-steps.ts';
import { type Acceptance, followLogin } from './login-course.ts';

/** What is asked of a login over SSH. */
export interface LoginQuestion {
  user: string;
  /** Group of an account that only the callout knows. */
  group?: string | undefined;
  /** UUID of the SSH service; the first one where it is left out. */
  service?: string | undefined;
  /** What the client presents, in this order, and rightly; all kinds where it is left out. */
  credentials?: readonly CredentialKind[] | undefined;
}

/**
 * Explains a login over SSH by the configuration alone: credentials count as right where the account has such, and an endpoint as one that
 * accepts them.
 *
 * @throws Refused when there is no such service, or nobody could log in with the account
 */
export function explainLogin(config: Config, question: LoginQuestion, decision: Decision): void {
  const note: Note = (step, text) => decision.steps.push({ step, ok: true, text });
  const [service, options] = serviceOf(config, question.service);
  note('service', `${service}, ${options.address}:${options.port}`);
  const chained = withChain(config, options);
  const known = localAccount(chained, question.user);
  note('method', methodText(chained, question.user, known));
  const account = accountInForce(chained, question, note);
  decision.group = account.groupUuid;
  note('home', `home folder ${account.homeFolderPath}`);
  const accepted: Acceptance = { group: account.groupUuid, required: account.requiredCredentials };
  const answerTo = (kind: CredentialKind): Acceptance => {
    const refusal = known && lack(known.account, kind);
    return refusal === undefined ? accepted : { refusal };
  };
  const presented = question.credentials ?? credentialKinds;
  const login = followLogin(
    service,
    requiredByGroups(withDefaultGroup(config.groups).values()),
    presented.map((kind) => [kind, answerTo(kind)]),
  );
  for (const { outcome, reason, offered } of login.credentials) {
    const next = outcome === 'partial' ? `; ${offered.join(' or ')} is asked for next` : '';
    decision.steps.push({ step: 'credentials', ok: outcome !== 'refused', text: `${reason}${next}` });
  }
  const last = login.credentials.at(-1);
  decision.login = { ...login, required_credentials: account.requiredCredentials };
  decision.allowed = last?.outcome === 'granted';
  decision.reason = decision.allowed ? null : (last?.reason ?? 'nothing is presented');
}

function serviceOf(config: Config, wanted: string | undefined): [string, SshServiceOptions] {
  for (const [uuid, service] of Object.entries(config.services))
    if (service.type === 'ssh' && service.enabled && (wanted === undefined || uuid === wanted)) return [uuid, service];
  const what = wanted === undefined ? 'the configuration has no enabled ssh service' : `there is no enabled ssh service "${wanted}"`;
  throw new Refused('service', 'not-found', what);
}

/** The configuration with the methods that the service asks, in its order, and no others. */
function withChain(config: Config, { authentications: order }: SshServiceOptions): Config {
  const all = methodsInForce(config.authentications);
  const ordered = order === null ? all : order.flatMap((uuid) => all.filter(([candidate]) => candidate === uuid));
  // Who comes over SSH always names an account.
  const chain = ordered.filter(([, { enabled, type }]) => enabled && type !== 'anonymous');
  if (chain.length === 0) throw new Refused('method', 'unauthorized', 'the service has no enabled authentication method for logins');
  return { ...config, authentications: Object.fromEntries(chain) };
}

function methodText({ authentications }: Config, user: string, known: ReturnType<typeof localAccount>): string {
  const chain = Object.keys(authentications);
  const endpoints = chain.filter((uuid) => authentications[uuid]?.type === 'http');
  if (!known) return endpoints.length > 0 ? `${endpoints[0]} decides` : `${chain.join(', ')}: none has an account "${user}"`;
  const before = endpoints.filter((uuid) => chain.indexOf(uuid) < chain.indexOf(known.method));
  const passing = before.length > 0 ? `; ${before.join(', ')} before it is taken to pass the login on (401)` : '';
  return `${known.method} decides${passing}`;
}

/** Why a local account is not accepted with credentials of a kind, whatever the client has. */
function lack({ passwordHash, sshKeys }: LocalAccount, kind: CredentialKind): string | undefined {
  if (kind === 'password') return passwordHash === undefined ? 'the account has no password' : undefined;
  if (sshKeys.length === 0) return 'the account has no key';
  const faults = sshKeys.map(keyLineFault);
  return faults.includes(undefined) ? undefined : `the account has no key that can be used: each ${faults[0]}`;
}
