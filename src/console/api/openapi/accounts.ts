import { decision } from '../../../config/cases/decision-steps.ts';
import { authTestReport } from '../../../config/probe/probe-report.ts';
import { shownItems } from '../../../control/shown-items.ts';
import { authTestRequest, longestTestS, testsAtOnce } from '../auth-test.ts';
import { collectionNames, highestLimit, usualLimit } from '../collections.ts';
import { explainRequest } from '../explain.ts';
import { bodyRefusals, count, described, jsonBody, jsonResponse, list, type OpenapiPart, object, response, schema, text } from './parts.ts';

const whichItems = [
  parameter('id', list(text), 'ID of an item; several are given by several parameters.'),
  parameter('account', text, 'Name of an account.'),
  parameter('address', text, 'Address, or a range in CIDR notation, that theirs lies in.'),
];

const listed: Readonly<Record<keyof typeof shownItems, string>> = {
  sessions: 'Sessions of accounts, as `svc sessions list`.',
  locks: 'WebDAV locks, as `svc locks list`.',
  bans: 'Bans of addresses and limits of account names, as `svc bans list`.',
  uploads: 'Uploads that may take several requests and are not over.',
};

const removed: Readonly<Record<keyof typeof shownItems, string>> = {
  sessions: 'End sessions: whoever has one gets 401 from now on.',
  locks: 'Break locks.',
  bans: 'Lift bans.',
  uploads: 'Cancel unfinished uploads; a request that brings content is cut.',
};

export const accountsPart: OpenapiPart = {
  paths: {
    ...Object.fromEntries(collectionNames.map((name) => [`/api/${name}`, collectionPath(name)])),
    '/api/explain': {
      post: {
        operationId: 'explainDecision',
        summary: 'What the configuration in force makes of a request or a login, as `svc explain --json` tells it. Nobody else is asked.',
        requestBody: jsonBody(described(explainRequest)),
        responses: { 200: jsonResponse('The decision, step by step.', schema('Decision')), ...bodyRefusals },
      },
    },
    '/api/auth-test': {
      post: {
        operationId: 'testLogin',
        summary: 'Ask the authentication methods in force about credentials, as `svc auth-test --json` does.',
        description: `The credentials are kept nowhere. At most ${testsAtOnce} tests run at once, each for ${longestTestS} seconds at most.`,
        requestBody: jsonBody(described(authTestRequest)),
        responses: {
          200: jsonResponse('What each method says, and what comes of it.', schema('AuthTestReport')),
          ...bodyRefusals,
          503: response('Unavailable'),
        },
      },
    },
  },
  schemas: {
    ...Object.fromEntries(collectionNames.map((name) => [itemName(name), described(shownItems[name])])),
    Decision: described(decision),
    AuthTestReport: described(authTestReport),
  },
};

function collectionPath(name: keyof typeof shownItems) {
  const limit = { type: 'integer', minimum: 1, maximum: highestLimit, default: usualLimit };
  const all = parameter('all', { type: 'string', enum: ['1'] }, 'Says that no other parameter means everything.');
  return {
    get: {
      operationId: `list${itemName(name)}s`,
      summary: listed[name],
      parameters: [...whichItems, parameter('limit', limit, 'Most items that are listed.')],
      responses: {
        200: jsonResponse('The items, and how many there are in all.', object({ items: list(schema(itemName(name))), total: count })),
        400: response('BadRequest'),
      },
    },
    delete: {
      operationId: `remove${itemName(name)}s`,
      summary: removed[name],
      parameters: [...whichItems, all],
      responses: { 200: jsonResponse('How many there were.', object({ removed: count })), 400: response('BadRequest') },
    },
  };
}

function itemName(name: keyof typeof shownItems): string {
  return `${name[0]?.toUpperCase()}${name.slice(1, -1)}`;
}

function parameter(name: string, type: object, description: string) {
  return { name, in: 'query', required: false, description, schema: type };
}
