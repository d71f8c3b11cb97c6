import * as z from 'zod';
import { type Credentials, credentialsContentType, credentialsRequestBody } from '../../auth/credentials.ts';
import { shownUrl } from '../../lib/remote/shown-url.ts';
import { loginReport } from '../cases/login-course.ts';
import type { Target } from './method-probe.ts';
import { methodReport } from './method-report.ts';
import { loginOutcome } from './probed-login.ts';

const maskedRequest = z
  .strictObject({
    method: z.string(),
    endpoints: z
      .array(
        z.strictObject({ url: z.string(), headers: z.record(z.string(), z.string()).describe('Those of the configuration are masked.') }),
      )
      .describe('In the order in which they are asked.'),
    body: z.record(z.string(), z.unknown()).describe('With *** in place of the secret.'),
  })
  .describe('With --show-request: the request, secrets masked.');

export type MaskedRequest = z.infer<typeof maskedRequest>;

/** What came of the credentials of one client. */
export const authTestReport = z.strictObject({
  outcome: loginOutcome.describe('partial: accepted over SSH as the first of two, which grants nothing yet.'),
  expected: loginOutcome.optional(),
  met: z.boolean().optional(),
  request: maskedRequest.optional(),
  methods: z.array(methodReport),
  login: loginReport.optional().describe('What an ssh service makes of it; for credentials that reach one.'),
});

export type AuthTestReport = z.infer<typeof authTestReport>;

/** The request as it is sent, to one endpoint after the other, with every secret masked. Names are those of `--json`. */
export function maskedRequestOf(target: Target, credentials: Credentials): MaskedRequest {
  const endpoints = target.chain.flatMap(([, options]) => {
    if (options.type !== 'http') return [];
    const headers = {
      'Content-Type': credentialsContentType,
      ...Object.fromEntries(options.headers.map(([name]) => [name, '***'])),
      ...(options.username ? { Authorization: '***' } : {}),
    };
    return options.url.map((url) => ({ url: shownUrl(url), headers }));
  });
  const body: Record<string, unknown> = JSON.parse(
    credentialsRequestBody({ ...credentials, content: '***' }, target.config?.server.uuid ?? 'svc-auth-test'),
  );
  return { method: 'POST', endpoints, body };
}
