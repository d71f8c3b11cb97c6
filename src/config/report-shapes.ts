import * as z from 'zod';
import { credentialKinds, credentialTypes, requiredCredentials } from '../accounts/credential-kinds.ts';

/*
 * The JSON of commands, of the console's API and of its page, which takes the types: nothing of Node.js is imported.
 */

/** The roles of administrators; a viewer changes nothing. */
export const administratorRoles = ['viewer', 'operator'] as const;
export type AdministratorRole = (typeof administratorRoles)[number];

/** The administrator of a console session. */
export const administrator = z.object({ name: z.string(), role: z.enum(administratorRoles) });
export type SignedIn = z.infer<typeof administrator>;

const presented = z.strictObject({
  type: z.enum(credentialKinds),
  outcome: z.enum(['granted', 'partial', 'refused']).describe('partial: accepted as the first of two; nothing is granted yet.'),
  reason: z.string(),
  offered: z.array(z.string()).describe('Methods of SSH that the client may go on with.'),
});

/** The course of a login over SSH; names are those of `--json`. */
export const loginReport = z.strictObject({
  service: z.string().describe('UUID of the service.'),
  required_credentials: z.enum(requiredCredentials).nullable().describe('What the group requires; null when no credentials were accepted.'),
  offered: z.array(z.string()).describe('Methods of SSH that the service offers at first.'),
  credentials: z.array(presented).describe('In the order in which a client presents them; none after those that let it in.'),
});

export type LoginReport = z.infer<typeof loginReport>;

/** Whether the configuration allows a request, and why. Names are those of `--json`. */
export const decision = z.strictObject({
  user: z.string(),
  method: z.string(),
  path: z.string(),
  allowed: z.boolean(),
  status: z.int().nullable().describe('Status of the refusal, of HTTP or of SFTP; null for a login.'),
  reason: z.string().nullable().describe('Why it is refused.'),
  group: z.string().nullable(),
  real_path: z.string().nullable(),
  rule: z.string().nullable().describe('The set of permissions that decided: general, or the expression of a rule.'),
  steps: z.array(
    z.strictObject({
      step: z.enum(['request', 'service', 'method', 'account', 'group', 'home', 'mount', 'rule', 'permission', 'credentials']),
      ok: z.boolean(),
      text: z.string().describe('For people.'),
    }),
  ),
  login: loginReport.exactOptional().describe('Of LOGIN alone.'),
});

export type Decision = z.infer<typeof decision>;

export const methodOutcome = z.enum(['authenticated', 'next', 'rejected']);

/** The answer of one method about credentials; names are those of `--json`. */
export const methodReport = z.strictObject({
  method: z.string().describe('UUID of the authentication method.'),
  type: z.string(),
  credentials: z.enum(credentialTypes).describe('Type of the credentials that it was asked about.'),
  url: z.string().exactOptional(),
  status: z.int().exactOptional(),
  status_reason: z.string().exactOptional(),
  outcome: methodOutcome,
  invalid: z.boolean().describe('Whether no reply, or no valid one, came.'),
  reason: z.string(),
  problems: z.unknown().optional().describe('What is wrong with the account configuration of a 200 reply.'),
  failure: z.unknown().optional().describe('Body of a 403 reply.'),
  account: z.record(z.string(), z.unknown()).exactOptional().describe('The account in force.'),
  warnings: z.array(z.string()),
  duration_ms: z.number(),
});

export type MethodReport = z.infer<typeof methodReport>;

/** The outcome of all credentials together; `partial` when SSH asks for a second kind. */
export const loginOutcome = z.enum([...methodOutcome.options, 'partial']);

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

/** The result for the credentials of one client. */
export const authTestReport = z.strictObject({
  outcome: loginOutcome.describe('partial: accepted over SSH as the first of two, which grants nothing yet.'),
  expected: loginOutcome.optional(),
  met: z.boolean().optional(),
  request: maskedRequest.optional(),
  methods: z.array(methodReport),
  login: loginReport.optional().describe('What an ssh service makes of it; for credentials that reach one.'),
});

export type AuthTestReport = z.infer<typeof authTestReport>;
