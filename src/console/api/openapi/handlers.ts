import { deliveryOutcome } from '../../../webhooks/records/delivery-record-schema.ts';
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

const number = { type: 'number', minimum: 0 };
const refusals = { 404: response('NotFound') };

function action(operationId: string, summary: string) {
  return {
    parameters: [{ name: 'uuid', in: 'path', required: true, schema: text }],
    post: { operationId, summary, responses: { 204: { description: 'Done.' }, ...refusals } },
  };
}

export const handlersPart: OpenapiPart = {
  paths: {
    '/api/handlers': {
      get: {
        operationId: 'listHandlers',
        summary: 'The event handlers.',
        responses: { 200: jsonResponse('The handlers.', object({ handlers: list(schema('Handler')), incomplete })) },
      },
    },
    '/api/handlers/{uuid}/start': action('startHandler', 'Let a handler that stopped go on where it stands.'),
    '/api/handlers/{uuid}/pause': action('pauseHandler', 'Let a handler rest, also over restarts and reloads; its position stays.'),
    '/api/handlers/{uuid}/resume': action('resumeHandler', 'Let a paused handler go on where it stands.'),
    '/api/handlers/{uuid}/test': {
      ...action('testHandler', ''),
      post: {
        operationId: 'testHandler',
        summary: 'Send event 20011 to a handler at once, one attempt a URL, and wait for what comes of it.',
        responses: {
          200: jsonResponse(
            'What came of it.',
            object({
              outcome: { type: 'string', enum: deliveryOutcome.options },
              details: text,
              attempts: list(schema('DeliveryAttempt')),
              event_uuid: text,
            }),
          ),
          ...refusals,
        },
      },
    },
    '/api/handlers/{uuid}/lift-suspension': {
      ...action('liftSuspension', ''),
      post: {
        operationId: 'liftSuspension',
        summary: 'Let a suspended URL be asked again at once.',
        requestBody: jsonBody(object({ url: { ...text, description: 'As `suspended_urls` shows it.' } })),
        responses: { 204: { description: 'Done.' }, ...bodyRefusals, ...refusals },
      },
    },
  },
  schemas: {
    Handler: object({
      uuid: text,
      name: text,
      enabled: { type: 'boolean' },
      state: { type: 'string', enum: ['running', 'stopped', 'paused', 'disabled'] },
      reason: { ...text, description: 'Why it does not run; empty when it does.' },
      waiting_events: count,
      oldest_waiting_seconds: number,
      rate_per_minute: number,
      suspended_urls: list(object({ url: text, until: time })),
      node: { ...text, description: 'Which node delivers for it; empty while none does.' },
    }),
  },
};
