import { sumRuns, type ToldOccurrence } from '../../expectations/told-occurrence.ts';
import { ServiceError } from '../../lib/errors.ts';
import { isTimeZone } from '../../lib/time-zones.ts';
import { answerJson } from '../answer.ts';
import { type ConsoleContext, recordAction, requireAdministrator } from '../environment.ts';
import { readJsonObject } from '../request-body.ts';
import { Parameters, pathPart } from './parameters.ts';

/** Number of past days in a reply: the default and the maximum of parameter `days`. */
export const usualDays = 31;
export const maxDays = 366;
const dayMs = 86_400_000;

/** Maximum number of occurrences in a reply about all expectations. */
export const maxShown = 2000;

/** Answers `GET /api/expectations` with all expectations. */
export async function listExpectations(c: ConsoleContext): Promise<Response> {
  return answerJson(c, { expectations: await c.env.service.sources.expectations().list() });
}

/** Answers `GET /api/occurrences` with the occurrences of all expectations, by default from a day ago until a day from now. */
export async function listDue(c: ConsoleContext): Promise<Response> {
  const parameters = Parameters.fromQuery(c.env.query, ['since', 'until', 'expectation', 'by_day_in']);
  const nowMs = c.env.service.clock.nowMs();
  const [sinceMs, untilMs] = [parameters.timeMs('since') ?? nowMs - dayMs, parameters.timeMs('until') ?? nowMs + dayMs];
  if (untilMs < sinceMs || untilMs - sinceMs > maxDays * dayMs)
    throw new ServiceError('bad-request', `"until" must not be before "since", or more than ${maxDays} days after it.`);
  const timeZone = readTimeZone(parameters);
  const occurrences = await c.env.service.sources.expectations().between(sinceMs, untilMs, parameters.text('expectation'));
  const total = occurrences.length;
  if (timeZone !== undefined) return answerJson(c, { occurrences: [], runs: sumRuns(occurrences, timeZone).slice(-maxShown), total });
  return answerJson(c, { occurrences: occurrences.slice(-maxShown), total });
}

/** Reads the time zone by whose days occurrences are summed up. @throws ServiceError `bad-request` */
function readTimeZone(parameters: Parameters): string | undefined {
  const zone = parameters.text('by_day_in');
  if (zone !== undefined && !isTimeZone(zone))
    throw new ServiceError('bad-request', '"by_day_in" must be a time zone such as Europe/Berlin.');
  return zone;
}

/** Answers `GET /api/expectations/{uuid}/occurrences` with the occurrences of one expectation. */
export async function listOccurrences(c: ConsoleContext): Promise<Response> {
  const parameters = Parameters.fromQuery(c.env.query, ['days', 'by_day_in']);
  const days = parameters.number('days', { usual: usualDays, max: maxDays });
  const timeZone = readTimeZone(parameters);
  const history = await c.env.service.sources.expectations().history(pathPart(c, 'uuid'), days);
  if (timeZone === undefined) return answerJson(c, history);
  return answerJson(c, { ...history, occurrences: [], runs: sumRuns(history.occurrences.toReversed(), timeZone) });
}

/** Answers `POST /api/expectations/{uuid}/excuse`: an administrator excuses the missing files of an occurrence, and gives a reason. */
export function excuseOccurrence(c: ConsoleContext): Promise<Response> {
  return decide(c, 'expectation-excuse', 'reason', (watch, ...order) => watch.excuse(...order));
}

/** Answers `POST /api/expectations/{uuid}/expect-again`: an administrator sets a new time until which an occurrence is expected. */
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
