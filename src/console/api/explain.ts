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
  group: text.optional().describe('Group of the account, if only the authentication endpoint knows it.'),
  method: text.describe('An HTTP method, an SFTP request, or `LOGIN`.'),
  path: text.optional().describe('Path of the URL, `/home/…`; for SFTP the path that the client sends; none for `LOGIN`.'),
  destination: text.optional().describe('Destination of a copy, move or rename.'),
  service: text.optional().describe('For `LOGIN`: UUID of the SSH service; default: the first one.'),
  credentials: z
    .array(z.enum(credentialKinds))
    .min(1)
    .max(2)
    .optional()
    .describe('For `LOGIN`: credentials in the order in which the client presents them.'),
});

/** `POST /api/explain`: explains how the running configuration decides about a request. It changes nothing and contacts no other server. */
export async function explainDecision(c: ConsoleContext): Promise<Response> {
  const question = checkQuestion(await readRequest(c, explainRequest));
  const { config } = c.env.service.sources.configuration.running();
  return answerJson(c, decide(config, question));
}
