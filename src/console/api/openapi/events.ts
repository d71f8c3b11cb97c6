import { eventGroups } from '../../../events/catalogue.ts';
import { count, jsonResponse, list, type OpenapiPart, object, queryParameter, response, schema, text, time } from './parts.ts';

const filter = [
  queryParameter('since', time, 'Not older.'),
  queryParameter('until', time, 'Older.'),
  queryParameter('id', text, 'IDs of events, comma-separated.'),
  queryParameter('group', text, `Groups of events, comma-separated: ${eventGroups.join(', ')}.`),
  queryParameter('account', list(text), 'Name or UUID of an account, or a name that somebody tried to log in with; repeatable.'),
  queryParameter('path', list(text), 'A path, virtual or on disk; one that ends in `/` with all that is below it; repeatable.'),
  queryParameter('address', list(text), 'Address of a client; repeatable.'),
  queryParameter('request_id', list(text), 'ID of a request; repeatable.'),
  queryParameter('text', text, 'Stands in some value, as it is: no pattern, and capitals count.'),
];

const refusals = { 400: response('BadRequest'), 503: response('Unavailable') };

export const eventsPart: OpenapiPart = {
  paths: {
    '/api/events': {
      get: {
        operationId: 'listEvents',
        summary: 'Events, the newest first.',
        description:
          'A page that is not complete ended at the limits of time or bytes of one search; the next one goes on. With `Accept: application/x-ndjson` all that match, one a line.',
        parameters: [
          ...filter,
          queryParameter('limit', { type: 'integer', minimum: 1, maximum: 1000, default: 100 }, 'Most of a page, or of all.'),
          queryParameter('cursor', text, '`next` of the page before.'),
        ],
        responses: {
          200: {
            ...jsonResponse('A page, or all that match.', schema('EventPage')),
            content: {
              'application/json': { schema: schema('EventPage') },
              'application/x-ndjson': { schema: text },
            },
          },
          ...refusals,
        },
      },
    },
    '/api/events/live': {
      get: {
        operationId: 'followEvents',
        summary: 'Events as they happen.',
        description:
          'Server-Sent Events: each event as a message, whose ID is where it stands; `lag` (`skipped`, `from`, `to`) where some were left out because they came too fast or the reader was too slow. `skipped` is null where nobody counted. `Last-Event-ID` goes on from there.',
        parameters: [
          ...filter,
          queryParameter('last_event_id', text, 'For those who cannot send `Last-Event-ID`; `begin` of a page will do, too.'),
        ],
        responses: {
          200: { description: 'The events, until the connection ends.', content: { 'text/event-stream': { schema: text } } },
          400: response('BadRequest'),
        },
      },
    },
    '/api/events/{uuid}': {
      parameters: [{ name: 'uuid', in: 'path', required: true, schema: text }],
      get: {
        operationId: 'showEvent',
        summary: 'An event, its deliveries, and the other events of its request.',
        parameters: [queryParameter('at', time, 'When it happened, to a minute: finds it sooner.')],
        responses: {
          200: jsonResponse('The event.', schema('OpenedEvent')),
          ...refusals,
          404: response('NotFound'),
        },
      },
    },
  },
  schemas: {
    Event: {
      type: 'object',
      required: ['id', 'uuid', 'message', 'timestamp', 'data', 'account', 'component', 'server'],
      properties: {
        id: text,
        uuid: text,
        message: text,
        timestamp: object({ timestamp: text, cwa_14051: text }),
        data: { type: 'object' },
        account: { type: 'object' },
        component: { type: 'object' },
        server: { type: 'object' },
      },
    },
    EventPage: object({
      events: list(schema('Event')),
      begin: { ...text, description: 'Where the page begins: a live tail after it tells what came later.' },
      next: { ...text, nullable: true },
      searched: object({ files: count, bytes: count }),
      is_complete: { type: 'boolean' },
    }),
    OpenedEvent: object({
      event: schema('Event'),
      deliveries: list(schema('Delivery')),
      request_events: list(schema('Event')),
    }),
  },
};
