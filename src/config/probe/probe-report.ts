import { X509Certificate } from 'node:crypto';
import { defaultGroupUuid } from '../../accounts/account.ts';
import { type CredentialKind, credentialKinds } from '../../accounts/credential-kinds.ts';
import { type Credentials, credentialsContentType, credentialsRequestBody } from '../../auth/credentials.ts';
import { redactedUrl } from '../../lib/remote/redacted-url.ts';
import { requiredByGroups } from '../../ssh/required-credentials.ts';
import { type Acceptance, followLogin } from '../cases/login-course.ts';
import type { AuthTestReport, LoginReport, MaskedRequest, MethodReport } from '../report-shapes.ts';
import { probe, type Target } from './method-probe.ts';

/** What came of the credentials of one client. */
export interface ProbedLogin {
  outcome: AuthTestReport['outcome'];
  /** Each method that was asked, for one kind of credentials after the other. */
  methods: MethodReport[];
  /** What the methods made of the credentials that decided. */
  last: MethodReport;
  /** What an SSH service makes of it; undefined for others. */
  login: LoginReport | undefined;
}

/**
 * Asks the methods about credentials that a client presents one after the other.
 *
 * @param presented at least one
 * @throws the reason of the signal when that aborts
 */
export async function probeLogin(target: Target, presented: readonly Credentials[], signal?: AbortSignal): Promise<ProbedLogin> {
  const asked: MethodReport[][] = [];
  for (const credentials of presented) asked.push(await probe(target, credentials, signal));
  const ends = asked.map((reports) => reports.at(-1) as MethodReport);
  const login = loginOf(target, ends);
  const last = ends[(login?.credentials.length ?? ends.length) - 1] as MethodReport;
  return { outcome: outcomeOf(last, login), methods: asked.flat(), last, login };
}

function loginOf({ sshService, groups }: Target, ends: readonly MethodReport[]): LoginReport | undefined {
  if (sshService === undefined || !groups) return undefined;
  const answers = ends.flatMap((report): [CredentialKind, Acceptance][] => {
    const kind = credentialKinds.find((candidate) => candidate === report.credentials);
    return kind ? [[kind, acceptanceOf(report, groups)]] : [];
  });
  return answers.length === ends.length ? followLogin(sshService, requiredByGroups(groups.values()), answers) : undefined;
}

function acceptanceOf({ outcome: made, reason, account }: MethodReport, groups: NonNullable<Target['groups']>): Acceptance {
  if (made !== 'authenticated') return { refusal: reason };
  const group = String(account?.group ?? defaultGroupUuid);
  return { group, required: groups.get(group)?.required_credentials ?? 'any' };
}

function outcomeOf(last: MethodReport, login: LoginReport | undefined): ProbedLogin['outcome'] {
  switch (login?.credentials.at(-1)?.outcome) {
    case 'partial':
      return 'partial';
    case 'refused':
      // Right as they are, but not what the group requires.
      return last.outcome === 'authenticated' ? 'rejected' : last.outcome;
    default:
      return last.outcome;
  }
}

/** The common name of a certificate in PEM; undefined when it has none. @throws what `X509Certificate` throws for no certificate */
export function certificateCommonName(pem: string): string | undefined {
  const name = new X509Certificate(pem).toLegacyObject().subject.CN;
  return typeof name === 'string' ? name : undefined;
}

/** The request as it is sent, to one endpoint after the other, with every secret masked. Names are those of `--json`. */
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
