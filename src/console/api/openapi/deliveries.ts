import { recordKinds } from '../../../webhooks/records/delivery-record.ts';
import { deliveryOutcome } from '../../../webhooks/records/delivery-record-schema.ts';
import { jsonResponse, list, type OpenapiPart, object, queryParameter, response, schema, text, time } from './parts.ts';

const number = { type: 'number', minimum: 0 };
const flag = { type: 'boolean' };

const attempt = {
  type: 'object',
  additionalProperties: false,
  required: ['url', 'time', 'duration_ms'],
  properties: { url: text, time, duration_ms: number, status: { type: 'integer' }, reason: text, error: text },
};

const shown = {
  id: text,
  time,
  handler: text,
  outcome: { type: 'string', enum: deliveryOutcome.options },
  events: list(object({ id: text, uuid: text })),
  attempts: list(schema('DeliveryAttempt')),
  details: text,
  source: { type: 'string', enum: ['service', 'upload', 'replay', 'test'] },
};

const madeFrom = { type: 'string', enum: ['record', 'configuration'] };

export const deliveriesPart: OpenapiPart = {
  paths: {
    '/api/deliveries': {
      get: {
        operationId: 'listDeliveries',
        summary: 'Deliveries to event handlers, by the service and by hand, the newest first.',
        description: 'A page may be short, or empty, and still have a next one: each looks through a part of the records.',
        parameters: [
          queryParameter('handler', text, 'UUIDs; of several handlers it is given several times.'),
          queryParameter('outcome', text, 'Of `delivered`, `failed`, `discarded`; comma-separated.'),
          queryParameter('kind', text, `Of ${recordKinds.map((kind) => `\`${kind}\``).join(', ')}: by the service, and by hand.`),
          queryParameter('since', time, 'Not older.'),
          queryParameter('until', time, 'Older.'),
          queryParameter('event_id', text, 'Such as 40017.'),
          queryParameter('event_uuid', text, 'UUID of an event.'),
          queryParameter('limit', { type: 'integer', minimum: 1, maximum: 500, default: 50 }, 'Most of a page.'),
          queryParameter('cursor', text, '`next` of the page before.'),
        ],
        responses: { 200: jsonResponse('A page.', schema('DeliveryPage')), 400: response('BadRequest') },
      },
    },
    '/api/deliveries/{id}': {
      parameters: [{ name: 'id', in: 'path', required: true, schema: text }],
      get: {
        operationId: 'showDelivery',
        summary: 'All that is known of a delivery; what may be secret is ***.',
        responses: {
          200: jsonResponse('The delivery.', schema('OpenedDelivery')),
          404: response('NotFound'),
        },
      },
    },
  },
  schemas: {
    DeliveryAttempt: attempt,
    Delivery: object(shown),
    DeliveryPage: object({ deliveries: list(schema('Delivery')), next: { ...text, nullable: true } }),
    OpenedDelivery: object({
      ...shown,
      request: object({
        method: text,
        url: text,
        headers: object({ from: madeFrom, values: { type: 'object', additionalProperties: text } }),
        body: { ...object({ from: madeFrom, text, is_truncated: flag }), nullable: true },
      }),
      reply: {
        ...object({
          status: { type: 'integer' },
          reason: text,
          headers: list({ type: 'array', items: text, minItems: 2, maxItems: 2 }),
          body: text,
          is_truncated: flag,
        }),
        nullable: true,
        description: 'The last reply of one that was not delivered.',
      },
    }),
  },
};
