import * as z from 'zod';
import { decision } from '../../config/cases/decision.ts';
import { finding } from '../../config/finding.ts';
import { methodReport, outcome } from '../auth/method-report.ts';

// What `--json` prints. Members are added, never changed or taken away; tests hold the commands to it.

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

const sentEvents = z.array(z.strictObject({ id: z.string(), uuid: z.string(), position: z.string().optional() }));

const attempt = z.strictObject({
  url: z.string().describe('Without its query, which may hold secrets.'),
  time: z.string(),
  duration_ms: z.number(),
  status: z.int().optional(),
  reason: z.string().optional(),
  error: z.string().optional(),
});

/** Schemas of what commands print with `--json`, by command. */
export const jsonOutputs = {
  validate: z
    .strictObject({
      valid: z.boolean(),
      file: z.string(),
      findings: z.array(finding),
      host_keys: z
        .array(z.strictObject({ service: z.string(), path: z.string(), type: z.string(), fingerprint: z.string() }))
        .optional()
        .describe('Host keys of the ssh services, where there are any.'),
    })
    .describe('svc validate --json: one document.'),
  explain: decision.describe('svc explain --json: one document.'),
  test: z
    .strictObject({
      passed: z.int(),
      failed: z.int(),
      cases: z.array(
        z.strictObject({
          name: z.string(),
          passed: z.boolean(),
          problems: z.array(z.string()),
          duration_ms: z.number(),
          actual: z.unknown().describe('The whole outcome, as golden files hold it.'),
        }),
      ),
    })
    .describe('svc test --json: one document.'),
  reload: z
    .strictObject({
      number: z.int().describe('Counts the reloads of the process, from 1.'),
      pid: z.int(),
      time: z.string(),
      reloaded: z.boolean(),
      changes: z.array(z.string()).describe('Paths of the options that changed.'),
      reason: z.string().nullable(),
      findings: z.array(finding),
    })
    .describe('svc reload --json: one document.'),
  'auth-test': z
    .strictObject({
      outcome,
      expected: outcome.optional(),
      met: z.boolean().optional(),
      request: maskedRequest.optional(),
      methods: z.array(methodReport),
    })
    .describe('svc auth-test --json: one document.'),
  'auth-test-suite': z
    .strictObject({
      name: z.string(),
      passed: z.boolean(),
      message: z.string(),
      duration_ms: z.number(),
      methods: z.array(methodReport),
    })
    .describe('svc auth-test --suite FILE --json: one line for each case.'),
  'webhook-replay': z
    .strictObject({
      handler: z.string(),
      outcome: z.enum(['delivered', 'failed', 'discarded']),
      events: sentEvents,
      url: z.string().optional(),
      status: z.int().optional(),
      details: z.string().optional(),
      attempts: z.array(attempt),
    })
    .describe('svc webhook-replay --json: one line for each delivery.'),
  'webhook-replay-dry-run': z
    .strictObject({
      handler: z.string(),
      method: z.string(),
      url: z.string().describe('Without its own query, which may hold secrets.'),
      headers: z.record(z.string(), z.string()).describe('Names in lower case; values that may be secrets are ***.'),
      body: z.string(),
    })
    .describe('svc webhook-replay --dry-run --json: one line for each request.'),
  'webhook-replay-diff': z
    .strictObject({ handler: z.string(), events: sentEvents, differences: z.array(z.string()).describe('Lines that begin with - or +.') })
    .describe('svc webhook-replay --diff --json: one line for each request that differs.'),
  'mock-auth': z
    .union([
      z.strictObject({ listening: z.string() }),
      z.strictObject({ method: z.string(), url: z.string(), credentials: z.record(z.string(), z.unknown()), answer: z.string() }),
    ])
    .describe('svc mock auth --json: the URL, then one line for each request.'),
  'mock-webhook': z
    .union([
      z.strictObject({ listening: z.string() }),
      z.strictObject({ status: z.int(), event: z.record(z.string(), z.unknown()).describe('An event, or a body that holds none.') }),
    ])
    .describe('svc mock webhook --json: the URL, then one line for each event.'),
  'events-deliveries': z
    .object({
      time: z.string(),
      handler: z.string(),
      outcome: z.enum(['delivered', 'failed', 'discarded']),
      events: sentEvents,
      attempts: z.array(attempt),
      details: z.string().optional(),
      method: z.string(),
      content_type: z.string().optional(),
      source: z.enum(['upload', 'replay']).optional(),
    })
    .describe('svc events --deliveries --json: one line for each delivery.'),
  sessions: z
    .strictObject({
      id: z.string().describe('Names the session in remove; nobody can sign in with it.'),
      service: z.string().describe('UUID of the service.'),
      account: z.string().describe('Name of the account.'),
      address: z.string().describe('Where the login came from; empty when that is not known.'),
      created: z.string(),
      expires: z.string().describe('When it ends unless it is used before.'),
    })
    .describe('svc sessions list --json, svc sessions remove --json: one line for each session.'),
  locks: z
    .strictObject({
      id: z.string().describe('Names the lock in remove.'),
      path: z.string().describe('Real path.'),
      depth: z.enum(['0', 'infinity']),
      account: z.string().describe('Name of the account.'),
      address: z.string().describe('Where the request came from; empty when that is not known.'),
      owner: z.string().describe('What the client said about its owner.'),
      expires: z.string(),
    })
    .describe('svc locks list --json, svc locks remove --json: one line for each lock.'),
  bans: z
    .strictObject({
      id: z.string().describe('Names the ban in remove.'),
      address: z.string().describe('An IPv4 address, or the /64 of IPv6 addresses.'),
      expires: z.string(),
    })
    .describe('svc bans list --json, svc bans remove --json: one line for each ban.'),
  health: z
    .strictObject({
      url: z.string(),
      ready: z.boolean(),
      status: z.int(),
      checks: z.record(z.string(), z.string()).describe('ok, or what is wrong, by part.'),
    })
    .describe('svc health --json: one document.'),
} as const;
