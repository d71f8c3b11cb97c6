import * as z from 'zod';
import { punctuality } from '../../expectations/punctuality.ts';
import { type ToldOccurrence, toldExpectation, toldOccurrence } from '../../expectations/told-occurrence.ts';
import { ServiceError } from '../../lib/errors.ts';
import { answerJson } from '../answer.ts';
import { type ConsoleContext, recordAction, requireAdministrator } from '../environment.ts';
import { readJsonObject } from '../request-body.ts';
import { Parameters, pathPart } from './parameters.ts';

/** Days of the past: without `days`, and at most. */
const usualDays = 31;
const maxDays = 366;
const dayMs = 86_400_000;

/** Occurrences of one reply about all expectations. */
const maxShown = 2000;

export const expectationList = z.object({ expectations: z.array(toldExpectation) });
export const occurrenceQuery = z.object({
  days: z.int().min(1).max(maxDays).default(usualDays).describe('Days of the past.'),
});
export const occurrenceHistory = z.object({
  occurrences: z.array(toldOccurrence).describe('The newest first.'),
  punctuality: punctuality.nullable().describe('When the files came; null when none did.'),
});
export const dueQuery = z.object({
  since: z.iso.datetime({ offset: true }).describe('First due time; default: a day ago.'),
  until: z.iso.datetime({ offset: true }).describe(`Last due time, at most ${maxDays} days later; default: a day after now.`),
});
export const dueList = z.object({
  occurrences: z.array(toldOccurrence).describe(`In the order of their due times, at most the newest ${maxShown}.`),
  total: z.int().min(0),
});
/** A schema of its own: the description of the API cannot say that a schema with a name may be null. */
export const decidedOccurrence = z.object(toldOccurrence.shape);
const whichOccurrence = z.object({ due: z.string().describe('Due time of the occurrence.') });
export const excuseRequest = whichOccurrence.extend({ reason: z.string() });
export const expectAgainRequest = whichOccurrence.extend({ until: z.string().describe('When the files are missing or late.') });

/** `GET /api/expectations`. */
export async function listExpectations(c: ConsoleContext): Promise<Response> {
  return answerJson(c, { expectations: await c.env.service.sources.expectations().list() });
}

/** `GET /api/occurrences`: those of all expectations. */
export async function listDue(c: ConsoleContext): Promise<Response> {
  const parameters = Parameters.fromQuery(c.env.query, ['since', 'until']);
  const nowMs = c.env.service.clock.nowMs();
  const [sinceMs, untilMs] = [parameters.timeMs('since') ?? nowMs - dayMs, parameters.timeMs('until') ?? nowMs + dayMs];
  if (untilMs < sinceMs || untilMs - sinceMs > maxDays * dayMs)
    throw new ServiceError('bad-request', `"until" must be at most ${maxDays} days after "since".`);
  const occurrences = await c.env.service.sources.expectations().between(sinceMs, untilMs);
  return answerJson(c, { occurrences: occurrences.slice(-maxShown), total: occurrences.length });
}

/** `GET /api/expectations/{uuid}/occurrences`. */
export async function listOccurrences(c: ConsoleContext): Promise<Response> {
  const days = Parameters.fromQuery(c.env.query, ['days']).number('days', { usual: usualDays, max: maxDays });
  return answerJson(c, await c.env.service.sources.expectations().history(pathPart(c, 'uuid'), days));
}

/** `POST /api/expectations/{uuid}/excuse`. */
export function excuseOccurrence(c: ConsoleContext): Promise<Response> {
  return decide(c, 'expectation-excuse', 'reason', (watch, ...order) => watch.excuse(...order));
}

/** `POST /api/expectations/{uuid}/expect-again`. */
export function expectOccurrenceAgain(c: ConsoleContext): Promise<Response> {
  return decide(c, 'expectation-again', 'until', (watch, ...order) => watch.expectAgain(...order));
}

type Watch = ReturnType<ConsoleContext['env']['service']['sources']['expectations']>;

async function decide(
  c: ConsoleContext,
  action: string,
  member: 'reason' | 'until',
  act: (watch: Watch, uuid: string, due: string, value: string, administrator: string) => Promise<ToldOccurrence>,
): Promise<Response> {
  const uuid = pathPart(c, 'uuid');
  const watch = c.env.service.sources.expectations();
  const body = await readJsonObject(c);
  watch.requireKnown(uuid);
  const parameters = new Parameters(body, ['due', member]);
  const [due, value] = [parameters.text('due') ?? '', parameters.text(member) ?? ''];
  const told = await act(watch, uuid, due, value, requireAdministrator(c).name);
  await recordAction(c, action, `${uuid} ${told.due}`);
  return answerJson(c, told);
}
