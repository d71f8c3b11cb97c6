import {
  bodyRefusals,
  count,
  incomplete,
  jsonBody,
  jsonResponse,
  list,
  type OpenapiPart,
  object,
  response,
  schema,
  text,
  time,
} from './parts.ts';

const flag = { type: 'boolean' };
const id = [{ name: 'id', in: 'path', required: true, schema: text }];
const refusals = { 404: response('NotFound') };

export const replaysPart: OpenapiPart = {
  paths: {
    '/api/replays': {
      get: {
        operationId: 'listReplays',
        summary: 'The replays of all nodes that run, that wait, and the last that ended; the newest first.',
        responses: { 200: jsonResponse('The replays.', object({ replays: list(schema('Replay')), incomplete })) },
      },
      post: {
        operationId: 'startReplay',
        summary: 'Send again, to the event handlers of the configuration at their own URLs.',
        requestBody: jsonBody(schema('ReplayRequest')),
        responses: {
          202: jsonResponse('It is taken on.', object({ id: text }), ['Location']),
          ...bodyRefusals,
        },
      },
    },
    '/api/replays/{id}': {
      parameters: id,
      get: {
        operationId: 'showReplay',
        summary: 'How far a replay is.',
        responses: { 200: jsonResponse('The replay.', schema('Replay')), ...refusals },
      },
      delete: {
        operationId: 'cancelReplay',
        summary: 'Cancel a replay that has not ended; what is under way is given up.',
        responses: { 204: { description: 'It ends.' }, ...refusals },
      },
    },
    '/api/replays/{id}/results': {
      parameters: id,
      get: {
        operationId: 'showReplayResults',
        summary: 'A line for each request so far, as far as there is room; of a dry run each request with what today makes different.',
        responses: {
          200: { description: 'The results.', content: { 'application/x-ndjson': { schema: text } } },
          ...refusals,
        },
      },
    },
  },
  schemas: {
    ReplayRequest: {
      type: 'object',
      additionalProperties: false,
      description: 'Either `deliveries`, or `events`, `filter` and `failed`, which all must hold.',
      properties: {
        deliveries: {
          ...list(text),
          description: 'IDs of deliveries; their events go to the same handlers, whatever their filters say today.',
        },
        events: { ...list(text), description: 'UUIDs of events.' },
        filter: schema('EventFilter'),
        failed: { ...flag, description: 'Only what was failed, discarded or never sent, and is not going to be.' },
        force: { ...flag, description: 'Also what the filters of a handler leave out.' },
        handlers: { ...list(text), description: 'UUIDs of handlers; without them all that are enabled.' },
        dry_run: { ...flag, description: 'Show what would be sent, and send nothing.' },
      },
    },
    EventFilter: {
      type: 'object',
      additionalProperties: false,
      properties: {
        since: time,
        until: time,
        id: { ...list(text), description: 'IDs of events, such as 40017.' },
        group: { ...list(text), description: 'Groups of the catalogue.' },
        account: list(text),
        path: { ...list(text), description: 'One that ends in / is a folder with all that is below it.' },
        address: list(text),
        request_id: list(text),
        text: { ...text, description: 'Stands in some value of the event.' },
      },
    },
    Replay: object({
      id: text,
      created: time,
      administrator: text,
      dry_run: flag,
      state: { type: 'string', enum: ['waiting', 'running', 'done', 'cancelled', 'failed'] },
      total: { ...count, nullable: true, description: 'Events, once for each handler; null until all was looked through.' },
      done: count,
      delivered: count,
      failed: count,
      details: { ...text, description: 'Why it failed as a whole.' },
      node: { ...text, description: 'Which node makes it; others know its progress two seconds later.' },
      results_left_out: { ...count, description: 'Results that there was no room for; the record of deliveries has them.' },
    }),
  },
};
