import * as z from 'zod';
import { credentialKinds } from '../../accounts/credential-kinds.ts';
import { checkQuestion, decide } from '../../config/cases/decision.ts';
import { answerJson } from '../answer.ts';
import type { ConsoleContext } from '../environment.ts';
import { readRequest } from '../request-body.ts';

const text = z.string().max(10_000);

/** A question; names are those of `svc explain`. */
export const explainRequest = z.strictObject({
  user: text.describe('Name of the account.'),
  group: text.optional().describe('Group of an account that only the callout knows.'),
  method: text.describe('Of HTTP, the name of a request of SFTP, or `LOGIN`.'),
  path: text.optional().describe('Path of the URL, `/home/…`; of SFTP the path that the client names; none for a login.'),
  destination: text.optional().describe('Path of the new name.'),
  service: text.optional().describe('Of a login: UUID of the SSH service; the first one where it is left out.'),
  credentials: z.array(z.enum(credentialKinds)).min(1).max(2).optional().describe('Of a login: what the client presents, in this order.'),
});

/** `POST /api/explain`: how the configuration in force decides about a request, without changing or asking anything else. */
export async function explainDecision(c: ConsoleContext): Promise<Response> {
  const question = checkQuestion(await readRequest(c, explainRequest));
  const { config } = c.env.service.sources.configuration.running();
  return answerJson(c, decide(config, question));
}
