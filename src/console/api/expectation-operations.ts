import * as z from 'zod';
import { punctuality } from '../../expectations/punctuality.ts';
import { toldExpectation, toldOccurrence } from '../../expectations/told-occurrence.ts';
import { maxDays, maxShown, usualDays } from './expectations.ts';

const expectationList = z.object({ expectations: z.array(toldExpectation) });
const occurrenceQuery = z.object({
  days: z.int().min(1).max(maxDays).default(usualDays).describe('Days of the past.'),
});
const occurrenceHistory = z.object({
  occurrences: z.array(toldOccurrence).describe('The newest first.'),
  punctuality: punctuality.nullable().describe('When the files came; null when none did.'),
});
const dueQuery = z.object({
  since: z.iso.datetime({ offset: true }).describe('First due time; default: a day ago.'),
  until: z.iso.datetime({ offset: true }).describe(`Last due time, at most ${maxDays} days later; default: a day after now.`),
});
const dueList = z.object({
  occurrences: z.array(toldOccurrence).describe(`In the order of their due times, at most the newest ${maxShown}.`),
  total: z.int().min(0),
});
/** This needs its own schema, because the API description cannot say that a named schema may be null. */
const decidedOccurrence = z.object(toldOccurrence.shape);
const whichOccurrence = z.object({ due: z.string().describe('Due time of the occurrence.') });
const excuseRequest = whichOccurrence.extend({ reason: z.string() });
const expectAgainRequest = whichOccurrence.extend({ until: z.string().describe('When the files are missing or late.') });

/** The operations on expectations, by method and path. */
export const expectationOperations = {
  'GET /api/expectations': {
    id: 'listExpectations',
    summary: 'Files that are due: each expectation with its last and its next occurrence.',
    reply: ['The expectations.', expectationList],
  },
  'GET /api/expectations/{uuid}/occurrences': {
    id: 'listOccurrences',
    summary: 'The occurrences of one expectation, and when its files came.',
    query: occurrenceQuery,
    reply: ['The occurrences.', occurrenceHistory],
    refusals: [400, 404],
  },
  'GET /api/occurrences': {
    id: 'listDue',
    summary: 'The occurrences of all expectations in a time, also to come.',
    query: dueQuery,
    reply: ['The occurrences, and how many there are in all.', dueList],
    refusals: [400],
  },
  'POST /api/expectations/{uuid}/excuse': {
    id: 'excuseOccurrence',
    summary: 'Excuse an occurrence whose files are missing.',
    body: excuseRequest,
    reply: ['The occurrence.', decidedOccurrence],
    refusals: [404, 409],
  },
  'POST /api/expectations/{uuid}/expect-again': {
    id: 'expectOccurrenceAgain',
    summary: 'Expect the files of an occurrence once more: those that came do not count.',
    body: expectAgainRequest,
    reply: ['The occurrence.', decidedOccurrence],
    refusals: [404, 409],
  },
} as const;
