import { administratorRoles } from '../../../config/schema/console-options.ts';
import { bodyRefusals, jsonBody, jsonResponse, loginRefusals, type OpenapiPart, object, response, schema, text } from './parts.ts';

const loggedIn = jsonResponse('Logged in; the reply sets the session cookie.', schema('Administrator'), ['Set-Cookie']);
const refusals = { ...bodyRefusals, ...loginRefusals, 403: response('Forbidden') };

export const loginPart: OpenapiPart = {
  paths: {
    '/api/login': {
      post: {
        operationId: 'login',
        summary: 'Log in with name and password.',
        security: [],
        requestBody: jsonBody(object({ username: text, password: { ...text, format: 'password' } })),
        responses: { 200: loggedIn, ...refusals },
      },
    },
    '/api/login/link': {
      post: {
        operationId: 'loginByLink',
        summary: 'Log in with the token of a login link: once, within five minutes.',
        security: [],
        requestBody: jsonBody(object({ token: text })),
        responses: { 200: loggedIn, ...refusals },
      },
    },
    '/api/logout': {
      post: {
        operationId: 'logout',
        summary: 'End the session, if there is one.',
        security: [],
        responses: {
          204: { description: 'There is no session any more.', headers: { 'Set-Cookie': { $ref: '#/components/headers/Set-Cookie' } } },
          403: response('Forbidden'),
        },
      },
    },
    '/api/me': {
      get: {
        operationId: 'showMe',
        summary: 'Who is logged in.',
        responses: { 200: jsonResponse('Name and role.', schema('Administrator')) },
      },
    },
  },
  schemas: { Administrator: object({ name: text, role: { type: 'string', enum: administratorRoles } }) },
};
