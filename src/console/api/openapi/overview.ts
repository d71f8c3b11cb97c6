import { count, incomplete, jsonResponse, list, type OpenapiPart, object, schema, text, time } from './parts.ts';

const counted = {
  requests: { ...count, description: 'Of HTTP and SFTP; of the latter each block of a file is one.' },
  failures: count,
  received_bytes: count,
  sent_bytes: count,
  events: count,
};
const counts = { ...counted, deliveries: count, failed_deliveries: count };
const levels = { sessions: count, connections: count, memory_bytes: count, waiting_events: count };
const ofDisk = { ...count, nullable: true, description: 'Null while the disk does not tell.' };

export const overviewPart: OpenapiPart = {
  paths: {
    '/api/overview': {
      get: {
        operationId: 'showOverview',
        summary: 'All nodes at this moment.',
        responses: { 200: jsonResponse('What they are and do.', schema('Overview')) },
      },
    },
    '/api/samples': {
      get: {
        operationId: 'showSamples',
        summary: 'The last hour in figures of all nodes together, oldest first.',
        responses: {
          200: jsonResponse('A sample each ten seconds.', object({ interval_seconds: count, samples: list(schema('Sample')) })),
        },
      },
    },
    '/api/live': {
      get: {
        operationId: 'showLive',
        summary: 'Server-Sent Events: `overview` (as `/api/overview`) whenever it changes, each two seconds at most, and `sample`.',
        responses: {
          200: { description: 'The events, until the client ends it.', content: { 'text/event-stream': { schema: text } } },
        },
      },
    },
  },
  schemas: {
    Overview: object({
      server: object({ name: text, uuid: text, version: text, node: text, started: time }),
      services: list(
        object({
          uuid: text,
          type: text,
          name: text,
          url: text,
          node: text,
          connections: count,
          sessions: { ...count, description: 'Nodes share them: those of the service on all nodes.' },
        }),
      ),
      methods: list(object({ node: text, uuid: text, name: text, type: text, state: text, reason: text })),
      handlers: list(schema('Handler')),
      transfers: list(schema('Transfer')),
      transfers_left_out: { ...count, description: 'Of the transfers under way, those 100 are listed that began first.' },
      errors: list(object({ time, id: text, uuid: text, message: text, node: text })),
      journal: object({ bytes: ofDisk, free_bytes: ofDisk }),
      nodes: list(schema('Node')),
      incomplete,
    }),
    Node: object({
      node: { ...text, description: '`server.name`, or the name of the host; more where several nodes have the same.' },
      uuid: { ...text, description: 'Of its data folder.' },
      phase: {
        type: 'string',
        enum: ['starting', 'ready', 'stopping', 'gone'],
        description: '`gone` when nothing was heard of it for ten seconds; ten minutes later it is not listed any more.',
      },
      version: text,
      seen: { ...time, description: 'When it was last heard of, rounded down to ten seconds.' },
    }),
    Transfer: object({
      id: { ...text, description: 'Tells it from all others of its node.' },
      node: text,
      service: { ...text, description: 'UUID.' },
      account: text,
      path: { ...text, description: 'Of an archive, the folder that it was asked of.' },
      direction: { type: 'string', enum: ['download', 'upload'] },
      bytes: { ...count, description: 'So far.' },
      total_bytes: { ...count, nullable: true, description: 'Null where nobody said how many there will be.' },
      bytes_per_second: { ...count, description: 'Of the last seconds.' },
      started: time,
    }),
    Sample: object({ time, ...counts, ...levels }),
  },
};
