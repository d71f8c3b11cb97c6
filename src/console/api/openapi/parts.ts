import * as z from 'zod';

/**
 * A part of the OpenAPI document: the operations and schemas of one subject, one file each. A schema is referred to by
 * `#/components/schemas/NAME`, whichever file declares it.
 */
export interface OpenapiPart {
  paths: Record<string, { parameters?: readonly unknown[] } & Partial<Record<'get' | 'post' | 'delete', Operation>>>;
  schemas?: Record<string, unknown>;
}

/** What is done at a path; that it is for administrators, and what they can be refused with, the document says of each without `security`. */
interface Operation {
  operationId: string;
  summary: string;
  description?: string;
  security?: readonly [];
  parameters?: readonly unknown[];
  requestBody?: unknown;
  responses: Record<number, unknown>;
}

/** A reference to a schema. */
export function schema(name: string): { $ref: string } {
  return { $ref: `#/components/schemas/${name}` };
}

/** A reference to a response that many operations have: `Unauthorized`, `Forbidden`, … */
export function response(name: string): { $ref: string } {
  return { $ref: `#/components/responses/${name}` };
}

/** What a request with a JSON body can be refused with for the sake of that. */
export const bodyRefusals = { 400: response('BadRequest'), 413: response('TooLarge'), 415: response('MediaTypeUnsupported') };

/** What whoever has to log in can be refused with. */
export const loginRefusals = { 401: response('Unauthorized'), 429: response('TooManyRequests') };

/** What a change can be refused with, whatever it is. */
export const changeRefusals = { ...loginRefusals, 403: response('Forbidden'), 507: response('StorageFull') };

/** A response with a JSON body. @param headers names of `#/components/headers` */
export function jsonResponse(description: string, body: unknown, headers: readonly string[] = []) {
  const references = Object.fromEntries(headers.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
  return { description, headers: references, content: { 'application/json': { schema: body } } };
}

/** What a schema of options or results describes. */
export function described(type: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...schemaObject } = z.toJSONSchema(type, { target: 'openapi-3.0', io: 'input' }) as Record<string, unknown>;
  return schemaObject;
}

/** A request body of JSON. */
export function jsonBody(body: unknown) {
  return { required: true, content: { 'application/json': { schema: body } } };
}

/** A parameter of the query that may be left out. */
export function queryParameter(name: string, shape: unknown, description: string) {
  return { name, in: 'query', required: false, description, schema: shape };
}

/** An object of which every member is there. */
export function object(properties: Record<string, unknown>) {
  return { type: 'object', additionalProperties: false, required: Object.keys(properties), properties };
}

/** A list whose items are all such. */
export function list(items: unknown) {
  return { type: 'array', items };
}

export const text = { type: 'string' };
export const count = { type: 'integer', minimum: 0 };
/** Of answers that say what all nodes know. */
export const incomplete = { ...text, description: 'Why the other nodes cannot be seen at present; empty when they can.' };
/** ISO 8601, UTC. */
export const time = { type: 'string', format: 'date-time' };
