import * as z from 'zod';
import { administrator, authTestReport, decision } from '../../config/report-shapes.ts';
import { validation } from '../../config/validation.ts';
import { shownItems } from '../../control/collection.ts';
import { text } from '../../control/shown-node.ts';
import { eventIds } from '../../events/event-ids.ts';
import { occurrenceHistory, occurrenceRun, toldExpectation, toldOccurrence } from '../../expectations/told-occurrence.ts';
import { accountOperations, itemName } from './account-operations.ts';
import { explainRequest } from './accounts.ts';
import { authTestRequest, longestTestS, testsAtOnce } from './auth-test.ts';
import { collectionNames } from './collections.ts';
import { maxDays, maxShown, usualDays } from './expectations.ts';
import type { Operation } from './openapi/operation.ts';
import { accountView } from './schemas/accounts.ts';
import { changes, reloadOfAll, runningConfiguration } from './schemas/configuration.ts';
import {
  attemptView,
  deliveryPage,
  deliveryQuery,
  deliveryView,
  listedDelivery,
  openedDelivery,
  openedEvent,
  testedHandler,
} from './schemas/deliveries.ts';
import { eventHistogram, eventKinds, eventPage, eventPageQuery, eventQuery, eventView, histogramQuery } from './schemas/events.ts';
import { handlerList, handlerView, nodeView, overview, sample, sampleList, transferView } from './schemas/overview.ts';
import { eventFilter, replayList, replayRequest, replayView } from './schemas/replays.ts';

const expectationList = z.object({ expectations: z.array(toldExpectation) });
const byDayIn = z.string().describe('Time zone. The reply has `runs` and no occurrences: those of one state on one day are summed up.');
const occurrenceQuery = z.object({
  days: z.int().min(1).max(maxDays).default(usualDays).describe('Number of past days.'),
  by_day_in: byDayIn,
});
const dueQuery = z.object({
  since: z.iso.datetime({ offset: true }).describe('First due time; default: a day ago.'),
  until: z.iso.datetime({ offset: true }).describe(`Last due time, at most ${maxDays} days later; default: a day from now.`),
  expectation: z.string().describe('UUID of an expectation; default: all.'),
  by_day_in: byDayIn,
});
const dueList = z.object({
  occurrences: z.array(toldOccurrence).describe(`In the order of their due times, at most the newest ${maxShown}.`),
  runs: z.array(occurrenceRun).exactOptional().describe(`With \`by_day_in\`, instead of the occurrences; at most the newest ${maxShown}.`),
  total: z.int().min(0),
});
/**
 * A copy of `toldOccurrence`. If a reply consisted of the original itself, all replies that contain it would refer to it by `$ref`. In some
 * of these replies, the occurrence can be null, and OpenAPI 3.0 has no nullable `$ref`.
 */
const decidedOccurrence = z.object(toldOccurrence.shape);
const whichOccurrence = z.object({ due: z.string().describe('Due time of the occurrence.') });
const excuseRequest = whichOccurrence.extend({ reason: z.string() });
const expectAgainRequest = whichOccurrence.extend({ until: z.string().describe('New deadline: after it, the files are late or missing.') });

/** The operations on expectations, by method and path. */
const expectationOperations = {
  'GET /api/expectations': {
    id: 'listExpectations',
    summary: 'All expectations, each with its last and its next occurrence.',
    reply: ['The expectations.', expectationList],
  },
  'GET /api/expectations/{uuid}/occurrences': {
    id: 'listOccurrences',
    summary: 'The occurrences of one expectation, and when its files arrived.',
    query: occurrenceQuery,
    reply: ['The occurrences.', occurrenceHistory],
    refusals: [400, 404],
  },
  'GET /api/occurrences': {
    id: 'listDue',
    summary: 'The occurrences of all expectations in a period, including future ones.',
    query: dueQuery,
    reply: ['The occurrences, and how many there are in all.', dueList],
    refusals: [400, 404],
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
    summary: 'Expect the files of an occurrence again: files that have arrived so far do not count.',
    body: expectAgainRequest,
    reply: ['The occurrence.', decidedOccurrence],
    refusals: [404, 409],
  },
} as const;

const passwordLogin = z.object({ username: text, password: text.meta({ format: 'password' }) });

const errors = z.object({ errors: z.array(z.object({ code: text, message: text })) });
const validated = validation.extend({ file: validation.shape.file.nullable().describe('Null for a server without a configuration file.') });

/** The schemas that have a name in the OpenAPI document. */
export const namedSchemas = {
  Errors: errors,
  Administrator: administrator,
  Overview: overview,
  Handler: handlerView,
  Node: nodeView,
  Transfer: transferView,
  Sample: sample,
  Event: eventView,
  EventPage: eventPage,
  OpenedEvent: openedEvent,
  DeliveryAttempt: attemptView,
  Delivery: deliveryView,
  ListedDelivery: listedDelivery,
  DeliveryPage: deliveryPage,
  OpenedDelivery: openedDelivery,
  ReplayRequest: replayRequest,
  EventFilter: eventFilter,
  Replay: replayView,
  Account: accountView,
  ...Object.fromEntries(collectionNames.map((name) => [itemName(name), shownItems[name]])),
  Decision: decision,
  AuthTestReport: authTestReport,
  Configuration: runningConfiguration,
  Validation: validated,
  Changes: changes,
  Reload: reloadOfAll,
};

const login = { isOpen: true, reply: ['Logged in; the reply sets the session cookie.', administrator], headers: ['Set-Cookie'] } as const;
const loginRefusals = [401, 403, 429];

/** All operations, by method and path. */
export const operations: Record<string, Operation> = {
  'GET /api/openapi.json': {
    id: 'showOpenapi',
    summary: 'This document.',
    isOpen: true,
    reply: ['The document.', z.record(text, z.unknown())],
  },

  'POST /api/login': { id: 'login', summary: 'Log in with name and password.', body: passwordLogin, ...login, refusals: loginRefusals },
  'POST /api/login/link': {
    id: 'loginByLink',
    summary: 'Log in with the token of a login link, which works once, within five minutes.',
    body: z.object({ token: text }),
    ...login,
    refusals: loginRefusals,
  },
  'POST /api/logout': {
    id: 'logout',
    summary: 'End the session, if there is one.',
    isOpen: true,
    reply: ['The session has ended.'],
    headers: ['Set-Cookie'],
    refusals: [403],
  },
  'GET /api/me': { id: 'showMe', summary: 'The administrator who is logged in.', reply: ['Name and role.', administrator] },

  'GET /api/overview': {
    id: 'showOverview',
    summary: 'The current state of all nodes.',
    reply: ['The nodes, services, transfers and errors.', overview],
  },
  'GET /api/samples': {
    id: 'showSamples',
    summary: 'Figures of the last hour, summed over all nodes, oldest first.',
    reply: ['One sample for every ten seconds.', sampleList],
  },
  'GET /api/live': {
    id: 'showLive',
    summary: 'Server-Sent Events: `overview` (like `/api/overview`) after changes, at most every two seconds; `sample` every ten seconds.',
    reply: ['The events, until the client ends the connection.', 'text/event-stream'],
  },

  'GET /api/events': {
    id: 'listEvents',
    summary: 'Events, newest first.',
    description:
      'If a page is not complete, the search reached its limit of time or bytes; the next page continues it. With `Accept: application/x-ndjson`, the reply has all matching events, one per line.',
    query: eventPageQuery,
    reply: ['A page, or all that match.', eventPage, 'application/x-ndjson'],
    refusals: [400, 503],
  },
  'GET /api/events/live': {
    id: 'followEvents',
    summary: 'Events as they happen.',
    description:
      'Server-Sent Events. Each event is a message whose ID is the position of the event. If events came too fast or the reader was too slow, some are omitted, and a message `lag` (`skipped`, `from`, `to`) reports that; `skipped` is null if their number is unknown. `Last-Event-ID` continues from a position.',
    query: eventQuery.extend({
      last_event_id: text.describe('Position to start from, such as `begin` of a page. The header `Last-Event-ID` takes precedence.'),
    }),
    reply: ['The events, until the connection ends.', 'text/event-stream'],
    refusals: [400],
  },
  'GET /api/events/histogram': {
    id: 'countEvents',
    summary: 'How many events there are in each part of a time range.',
    description: 'Events are counted from the end of the range back; `counted_since` is later than `since` if counting took too long.',
    query: histogramQuery,
    reply: ['The counts.', eventHistogram],
    refusals: [400, 503],
  },
  'GET /api/events/catalogue': {
    id: 'listEventKinds',
    summary: 'Every kind of event, with its name, message, groups and severity.',
    reply: ['The kinds.', eventKinds],
  },
  'GET /api/events/{uuid}': {
    id: 'showEvent',
    summary: 'An event, its deliveries, and the other events of its request.',
    query: z.object({ at: eventQuery.shape.since.describe('Time of the event, accurate to a minute; speeds up the search.') }),
    reply: ['The event.', openedEvent],
    refusals: [400, 404, 503],
  },

  'GET /api/deliveries': {
    id: 'listDeliveries',
    summary: 'Deliveries to event handlers, made by the service and by hand, newest first.',
    description: 'Each request searches a part of the records: a page may be short or empty and still have a next one.',
    query: deliveryQuery,
    reply: ['A page.', deliveryPage],
    refusals: [400],
  },
  'GET /api/deliveries/{id}': {
    id: 'showDelivery',
    summary: 'A delivery with all its attempts; values that may be secret are replaced by ***.',
    reply: ['The delivery.', openedDelivery],
    refusals: [404],
  },

  'GET /api/replays': {
    id: 'listReplays',
    summary: 'Replays of all nodes: running, waiting and recently ended ones, newest first.',
    reply: ['The replays.', replayList],
  },
  'POST /api/replays': {
    id: 'startReplay',
    summary: 'Start a replay: send events again to the URLs of their event handlers.',
    body: replayRequest,
    reply: ['The replay was accepted.', z.object({ id: text })],
    status: 202,
    headers: ['Location'],
  },
  'GET /api/replays/{id}': { id: 'showReplay', summary: 'The progress of a replay.', reply: ['The replay.', replayView], refusals: [404] },
  'DELETE /api/replays/{id}': {
    id: 'cancelReplay',
    summary: 'Cancel a replay that has not ended, including its running requests.',
    reply: ['The replay ends.'],
    refusals: [404],
  },
  'GET /api/replays/{id}/results': {
    id: 'showReplayResults',
    summary:
      'The results of a replay so far, one per line, up to a limit; those of a dry run include the request and how it differs from the recorded one.',
    reply: ['The results.', 'application/x-ndjson'],
    refusals: [404],
  },

  'GET /api/handlers': { id: 'listHandlers', summary: 'The event handlers.', reply: ['The handlers.', handlerList] },
  'POST /api/handlers/{uuid}/start': handlerAction('startHandler', 'Let a stopped handler continue from its position.'),
  'POST /api/handlers/{uuid}/pause': handlerAction(
    'pauseHandler',
    'Pause a handler. It stays paused across restarts and reloads, and keeps its position.',
  ),
  'POST /api/handlers/{uuid}/resume': handlerAction('resumeHandler', 'Let a paused handler continue from its position.'),
  'POST /api/handlers/{uuid}/test': {
    ...handlerAction(
      'testHandler',
      `Send event ${eventIds.testEventSent} to a handler at once, with one attempt per URL, and wait for the result.`,
    ),
    reply: ['The result.', testedHandler],
  },
  'POST /api/handlers/{uuid}/lift-suspension': {
    ...handlerAction('liftSuspension', 'Allow requests to a suspended URL again at once.'),
    body: z.object({ url: text.describe('The URL as `suspended_urls` shows it.') }),
  },

  ...accountOperations,
  ...expectationOperations,
  'POST /api/explain': {
    id: 'explainDecision',
    summary:
      'How the running configuration decides about a request or a login, like `svc explain --json`. No authentication endpoint is asked.',
    body: explainRequest,
    reply: ['The decision, step by step.', decision],
  },
  'POST /api/auth-test': {
    id: 'testLogin',
    summary: 'Ask the running authentication methods about credentials, as `svc auth-test --json` does.',
    description: `The credentials are not stored. At most ${testsAtOnce} tests run at once, each for at most ${longestTestS} seconds.`,
    body: authTestRequest,
    reply: ['The answer of each method, and the result.', authTestReport],
    refusals: [503],
  },

  'GET /api/configuration': {
    id: 'showConfiguration',
    summary: 'The running configuration, with secrets masked.',
    description:
      'These are masked: passwords, hashes, keys, values of headers, everything that comes from a variable or a file, and in URLs the user name and the query.',
    reply: ['The options in force, including defaults; `file` is null without a configuration file.', runningConfiguration],
  },
  'GET /api/configuration/findings': {
    id: 'showFindings',
    summary: 'Findings in the current configuration file, as from `svc validate --json`; none without a file.',
    reply: ['The findings.', validated],
    refusals: [400],
  },
  'GET /api/configuration/changes': {
    id: 'showChanges',
    summary: 'What a reload would change, at most 100 options.',
    reply: ['The options that differ, secrets masked.', changes],
    refusals: [400],
  },
  'POST /api/configuration/reload': {
    id: 'reloadConfiguration',
    summary: 'Reload the configuration file on each node, as `svc reload --json` does.',
    reply: ['The result. A node that refuses its configuration file keeps its configuration.', reloadOfAll],
  },
};

function handlerAction(id: string, summary: string): Operation {
  return { id, summary, reply: ['Done.'], refusals: [404] };
}
