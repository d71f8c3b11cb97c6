import * as z from 'zod';
import { toldExpectation, toldOccurrence } from '../../expectations/expectation.ts';
import { answerJson } from '../answer.ts';
import { type ConsoleContext, recordAction, requireAdministrator } from '../environment.ts';
import { readJsonObject } from '../request-body.ts';
import { Parameters, pathPart } from './parameters.ts';

/** Days of the past: without `days`, and at most. */
const usualDays = 31;
const maxDays = 366;

export const expectationList = z.object({ expectations: z.array(toldExpectation) });
export const occurrenceQuery = z.object({
  days: z.int().min(1).max(maxDays).default(usualDays).describe('Days of the past.'),
});
export const occurrenceList = z.object({ occurrences: z.array(toldOccurrence).describe('The newest first.') });
/** A separate schema, because the API description cannot make a named schema nullable. */
export const excusedOccurrence = z.object(toldOccurrence.shape);
export const excuseRequest = z.object({ due: z.string().describe('Due time of the occurrence.'), reason: z.string() });

/** `GET /api/expectations`. */
export async function listExpectations(c: ConsoleContext): Promise<Response> {
  return answerJson(c, { expectations: await c.env.service.sources.expectations().list() });
}

/** `GET /api/expectations/{uuid}/occurrences`. */
export async function listOccurrences(c: ConsoleContext): Promise<Response> {
  const days = Parameters.fromQuery(c.env.query, ['days']).number('days', { usual: usualDays, max: maxDays });
  return answerJson(c, { occurrences: await c.env.service.sources.expectations().occurrences(pathPart(c, 'uuid'), days) });
}

/** `POST /api/expectations/{uuid}/excuse`. */
export async function excuseOccurrence(c: ConsoleContext): Promise<Response> {
  const uuid = pathPart(c, 'uuid');
  const watch = c.env.service.sources.expectations();
  const body = await readJsonObject(c);
  watch.requireKnown(uuid);
  const parameters = new Parameters(body, ['due', 'reason']);
  const due = parameters.text('due') ?? '';
  const told = await watch.excuse(uuid, due, parameters.text('reason') ?? '', requireAdministrator(c).name);
  await recordAction(c, 'expectation-excuse', `${uuid} ${told.due}`);
  return answerJson(c, told);
}
