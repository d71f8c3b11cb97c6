import * as z from 'zod';
import type { ErrorCode } from '../../lib/errors.ts';
import { loginReport } from './login-course.ts';

/** Whether the configuration lets a request through, and why. Names are those of `--json`. */
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

/** Where in a decision something was found. */
export type StepName = Decision['steps'][number]['step'];

/** Ends a decision with a refusal. */
export class Refused extends Error {
  readonly code: ErrorCode;
  readonly step: StepName;

  constructor(step: StepName, code: ErrorCode, message: string) {
    super(message);
    this.step = step;
    this.code = code;
  }
}

/** Takes one step of a decision that holds. */
export type Note = (step: StepName, text: string) => void;
