import * as z from 'zod';
import { credentialTypes } from '../../auth/credentials.ts';

/** What a method may say of credentials. */
export const outcome = z.enum(['authenticated', 'next', 'rejected']);

/** What one method makes of credentials; names are those of `--json`. */
export const methodReport = z.strictObject({
  method: z.string().describe('UUID of the authentication method.'),
  type: z.string(),
  credentials: z.enum(credentialTypes).describe('Type of the credentials that it was asked about.'),
  url: z.string().exactOptional(),
  status: z.int().exactOptional(),
  status_reason: z.string().exactOptional(),
  outcome,
  invalid: z.boolean().describe('Whether no reply, or no valid one, came.'),
  reason: z.string(),
  problems: z.unknown().optional().describe('What is wrong with the account configuration of a 200 reply.'),
  failure: z.unknown().optional().describe('Body of a 403 reply.'),
  account: z.record(z.string(), z.unknown()).exactOptional().describe('The account in force.'),
  warnings: z.array(z.string()),
  duration_ms: z.number(),
});

export type MethodReport = z.infer<typeof methodReport>;
