import { X509Certificate } from 'node:crypto';
import { defaultGroupUuid } from '../../accounts/account.ts';
import { type CredentialKind, credentialKinds } from '../../accounts/credential-kinds.ts';
import { type Credentials, credentialsContentType, credentialsRequestBody } from '../../auth/credentials.ts';
import { redactedUrl } from '../../lib/remote/redacted-url.ts';
import { requiredByGroups } from '../../ssh/required-credentials.ts';
import { type Acceptance, followLogin } from '../cases/login-course.ts';
import type { AuthTestReport, LoginReport, MaskedRequest, MethodReport } from '../report-shapes.ts';
import { probe, type Target } from './method-probe.ts';

/** The result for the credentials of one client. */
export interface ProbedLogin {
  outcome: AuthTestReport['outcome'];
  /** Reports of the methods that were asked, in the order in which the client presents its credentials. */
  methods: MethodReport[];
  /** The last report about the credentials that decide the outcome. */
  last: MethodReport;
  /** The steps of the login; undefined if no SSH service is asked. */
  login: LoginReport | undefined;
}

/**
 * Asks the methods about credentials that a client presents one after the other.
 *
 * @param presented at least one set of credentials
 * @throws the reason of the signal when the signal is aborted
 */
export async function probeLogin(target: Target, presented: readonly Credentials[], signal?: AbortSignal): Promise<ProbedLogin> {
  const asked: MethodReport[][] = [];
  for (const credentials of presented) asked.push(await probe(target, credentials, signal));
  const ends = asked.map((reports) => reports.at(-1) as MethodReport);
  const login = courseOfLogin(target, ends);
  const last = ends[(login?.credentials.length ?? ends.length) - 1] as MethodReport;
  return { outcome: decideOutcome(last, login), methods: asked.flat(), last, login };
}

function courseOfLogin({ sshService, groups }: Target, ends: readonly MethodReport[]): LoginReport | undefined {
  if (sshService === undefined || !groups) return undefined;
  const answers = ends.flatMap((report): [CredentialKind, Acceptance][] => {
    const kind = credentialKinds.find((candidate) => candidate === report.credentials);
    return kind ? [[kind, toAcceptance(report, groups)]] : [];
  });
  return answers.length === ends.length ? followLogin(sshService, requiredByGroups(groups.values()), answers) : undefined;
}

function toAcceptance({ outcome: made, reason, account }: MethodReport, groups: NonNullable<Target['groups']>): Acceptance {
  if (made !== 'authenticated') return { refusal: reason };
  const group = String(account?.group ?? defaultGroupUuid);
  return { group, required: groups.get(group)?.required_credentials ?? 'any' };
}

function decideOutcome(last: MethodReport, login: LoginReport | undefined): ProbedLogin['outcome'] {
  switch (login?.credentials.at(-1)?.outcome) {
    case 'partial':
      return 'partial';
    case 'refused':
      // The credentials are valid, but the group requires another kind.
      return last.outcome === 'authenticated' ? 'rejected' : last.outcome;
    default:
      return last.outcome;
  }
}

/** Returns the common name of a certificate in PEM; undefined if it has none. @throws the error of `X509Certificate` for any other text */
export function certificateCommonName(pem: string): string | undefined {
  const name = new X509Certificate(pem).toLegacyObject().subject.CN;
  return typeof name === 'string' ? name : undefined;
}

/** Describes the request that is sent to the endpoints, with all secrets masked. `--json` prints it with these member names. */
export function maskRequest(target: Target, credentials: Credentials): MaskedRequest {
  const endpoints = target.chain.flatMap(([, options]) => {
    if (options.type !== 'http') return [];
    const headers = {
      'Content-Type': credentialsContentType,
      ...Object.fromEntries(options.headers.map(([name]) => [name, '***'])),
      ...(options.username ? { Authorization: '***' } : {}),
    };
    return options.url.map((url) => ({ url: redactedUrl(url), headers }));
  });
  const body: Record<string, unknown> = JSON.parse(
    credentialsRequestBody({ ...credentials, content: '***' }, target.config?.server.uuid ?? 'svc-auth-test'),
  );
  return { method: 'POST', endpoints, body };
}
