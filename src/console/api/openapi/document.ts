import { answerJson } from '../../answer.ts';
import type { ConsoleContext } from '../../environment.ts';
import { accountsPart } from './accounts.ts';
import { configurationPart } from './configuration.ts';
import { deliveriesPart } from './deliveries.ts';
import { eventsPart } from './events.ts';
import { handlersPart } from './handlers.ts';
import { loginPart } from './login.ts';
import { overviewPart } from './overview.ts';
import { changeRefusals, count, jsonResponse, list, loginRefusals, type OpenapiPart, object, schema, text } from './parts.ts';
import { replaysPart } from './replays.ts';

/** The subjects of the document, one file each. */
const parts = [loginPart, overviewPart, eventsPart, deliveriesPart, replaysPart, handlersPart, accountsPart, configurationPart];

/** Replies that many operations have, each with the headers that it brings along. */
const refusals: Record<string, string> = {
  BadRequest: 'The request is not as it should be.',
  Unauthorized: 'Nobody is logged in, or name or password is not correct.',
  Forbidden: 'The role may not do it, or the request comes from a page of another origin.',
  NotFound: 'There is no such thing.',
  TooLarge: 'The body is too large.',
  MediaTypeUnsupported: 'The body is not application/json.',
  TooManyRequests: 'The address is banned for now, or too many wait already.',
  Unavailable: 'It cannot be done at present; the message says why.',
  StorageFull: 'The journal cannot record the change, so there is none.',
};

/** The OpenAPI document of the console's API. */
export function openapiDocument(): Record<string, unknown> {
  return {
    openapi: '3.0.3',
    info: {
      title: 'svc console',
      version: SVC_VERSION,
      description:
        'What operators of svc see and do. Errors are `{"errors": [{"code", "message"}]}`. Times are ISO 8601 in UTC. A request that changes something needs the role `operator` and, from a browser, the own origin. Where nodes share a Redis that is away, or nothing more gets onto the disk of the journal, anything can be answered with 503 or 507.',
      license: { name: 'MIT' },
    },
    servers: [{ url: '/' }],
    security: [{ session: [] }, { basic: [] }],
    paths: Object.fromEntries([ownPaths, ...parts.map(({ paths }) => paths)].flatMap((paths) => Object.entries(paths).map(withRefusals))),
    components: {
      securitySchemes: {
        session: { type: 'apiKey', in: 'cookie', name: 'svc_console' },
        basic: { type: 'http', scheme: 'basic' },
      },
      headers,
      responses: Object.fromEntries(
        Object.entries(refusals).map(([name, description]) => [name, jsonResponse(description, schema('Errors'), refusalHeaders[name])]),
      ),
      schemas: Object.assign(
        { Errors: object({ errors: list(object({ code: text, message: text })) }) },
        ...parts.map((part) => part.schemas),
      ),
    },
  };
}

const refusalHeaders: Record<string, string[]> = {
  Unauthorized: ['WWW-Authenticate'],
  TooManyRequests: ['Retry-After'],
  Unavailable: ['Retry-After'],
};

/** What `authenticate` refuses, for each operation that is not for everybody. */
function withRefusals([path, { parameters, ...operations }]: [string, OpenapiPart['paths'][string]]) {
  const refused = Object.entries(operations).map(([method, operation]) => {
    if (operation.security) return [method, operation];
    const common = method === 'get' ? loginRefusals : changeRefusals;
    return [method, { ...operation, responses: { ...operation.responses, ...common } }];
  });
  return [path, { ...(parameters && { parameters }), ...Object.fromEntries(refused) }];
}

const headers = {
  'Set-Cookie': { description: 'The session, `svc_console`.', schema: text },
  'WWW-Authenticate': { description: '`Basic` for those who sent it, else `session`.', schema: text },
  'Retry-After': { description: 'Seconds.', schema: count },
  Location: { description: 'Where it is found.', schema: text },
};

const ownPaths: OpenapiPart['paths'] = {
  '/api/openapi.json': {
    get: {
      operationId: 'showOpenapi',
      summary: 'This document.',
      security: [],
      responses: { 200: jsonResponse('The document.', { type: 'object' }) },
    },
  },
};

/** `GET /api/openapi.json`. */
export function showOpenapi(c: ConsoleContext): Response {
  return answerJson(c, openapiDocument());
}
