import * as z from 'zod';
import { namedSchemas, operations } from '../operations.ts';
import type { Operation } from './operation.ts';

/** Refusals by status. After the description come the names of the headers of the reply. */
const refusals: Record<number, [name: string, description: string, ...headers: string[]]> = {
  400: ['BadRequest', 'The request is malformed.'],
  401: ['Unauthorized', 'Nobody is logged in, or the name or password is not correct.', 'WWW-Authenticate'],
  403: ['Forbidden', 'The role does not allow the request, or the request comes from a page of another origin.'],
  404: ['NotFound', 'Nothing exists at this path.'],
  409: ['Conflict', 'The current state does not allow the request.'],
  413: ['TooLarge', 'The body is too large.'],
  415: ['MediaTypeUnsupported', 'The body is not application/json.'],
  429: ['TooManyRequests', 'The address is banned at present, or too many requests are waiting.', 'Retry-After'],
  503: ['Unavailable', 'The request cannot be answered at present; the message says why.', 'Retry-After'],
  507: ['StorageFull', 'The journal cannot record the change, so it was not made.'],
};

const headers = {
  'Set-Cookie': { description: 'The session, `svc_console`.', schema: { type: 'string' } },
  'WWW-Authenticate': { description: '`Basic` for requests with `Authorization`, otherwise `session`.', schema: { type: 'string' } },
  'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer', minimum: 0 } },
  'Content-Disposition': { description: '`attachment` with the name of the file.', schema: { type: 'string' } },
  Location: { description: 'URL of the new replay.', schema: { type: 'string' } },
};

type Json = Record<string, unknown>;

/** Builds the OpenAPI document of the console's API from the schemas of its requests and replies. */
export function openapiDocument(): Json {
  const { describe, named } = describeSchemas();
  const paths: Record<string, Json> = {};
  for (const [name, operation] of Object.entries(operations)) {
    const [method = '', path = ''] = name.split(' ');
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => ({
      name: parameter,
      in: 'path',
      required: true,
      schema: { type: 'string' },
    }));
    paths[path] ??= inPath.length > 0 ? { parameters: inPath } : {};
    paths[path][method.toLowerCase()] = describeOperation(method, operation, describe);
  }
  return {
    openapi: '3.0.3',
    info: {
      title: 'svc console',
      version: SVC_VERSION,
      description:
        'Monitoring and administration of svc. Errors are `{"errors": [{"code", "message"}]}`. Times are ISO 8601 in UTC. A request that changes something needs the role `operator` and, from a browser, the origin of the console. While a shared Redis cannot be reached, or the disk of the journal is full, any request may be answered with 503 or 507.',
      license: { name: 'MIT' },
    },
    servers: [{ url: '/' }],
    security: [{ session: [] }, { basic: [] }],
    paths,
    components: {
      securitySchemes: {
        session: { type: 'apiKey', in: 'cookie', name: 'svc_console' },
        basic: { type: 'http', scheme: 'basic' },
      },
      headers,
      responses: Object.fromEntries(
        Object.values(refusals).map(([name, description, ...brought]) => [
          name,
          { description, ...describeHeaders(brought), content: { 'application/json': { schema: describe(namedSchemas.Errors) } } },
        ]),
      ),
      schemas: named,
    },
  };
}

function describeOperation(method: string, operation: Operation, describe: Describe): Json {
  const { id, summary, description, isOpen, query, body, reply, headers: brought = [], refusals: own = [] } = operation;
  const [done, ...content] = reply;
  const { status = content.length > 0 ? 200 : 204 } = operation;
  const types = content.map((item) =>
    typeof item === 'string' ? [item, { schema: { type: 'string' } }] : ['application/json', { schema: describe(item) }],
  );
  const refused = new Set([
    ...own,
    ...(body ? [400, 413, 415] : []),
    ...(isOpen ? [] : [401, 429]),
    ...(isOpen || method === 'GET' ? [] : [403, 507]),
  ]);
  return {
    operationId: id,
    summary,
    ...(description && { description }),
    ...(isOpen && { security: [] }),
    ...(query && { parameters: describeParameters(describe(query)) }),
    ...(body && { requestBody: { required: true, content: { 'application/json': { schema: describe(body) } } } }),
    responses: {
      [status]: { description: done, ...describeHeaders(brought), ...(types.length > 0 && { content: Object.fromEntries(types) }) },
      ...Object.fromEntries([...refused].map((code) => [code, { $ref: `#/components/responses/${refusals[code]?.[0]}` }])),
    },
  };
}

function describeParameters(query: Json): Json[] {
  return Object.entries(query.properties as Record<string, Json>).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: false,
    description,
    schema,
  }));
}

function describeHeaders(names: readonly string[]): Json {
  return names.length > 0 ? { headers: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }])) } : {};
}

/** Returns the description of a schema. If the schema is one of `namedSchemas`, the description is a reference to it. */
type Describe = (schema: z.ZodType) => Json;

/** Describes all schemas together, so that they can refer to each other. */
function describeSchemas(): { describe: Describe; named: Json } {
  const registry = z.registry<{ id: string }>();
  for (const [name, schema] of Object.entries(namedSchemas)) registry.add(schema, { id: name });
  for (const { id, query, body, reply } of Object.values(operations))
    for (const [index, schema] of [query, body, ...reply].entries())
      if (schema instanceof z.ZodType && !registry.has(schema)) registry.add(schema, { id: `${id} ${index}` });
  const { schemas } = z.toJSONSchema(registry, { uri: (id) => `#/components/schemas/${id}`, target: 'openapi-3.0', override });
  for (const schema of Object.values(schemas)) delete schema.$id;
  const schemaName = (schema: z.ZodType) => registry.get(schema)?.id ?? '';
  return {
    describe: (schema) =>
      schemaName(schema) in namedSchemas ? { $ref: `#/components/schemas/${schemaName(schema)}` } : (schemas[schemaName(schema)] as Json),
    named: Object.fromEntries(Object.keys(namedSchemas).map((name) => [name, schemas[name]])),
  };
}

/**
 * Removes the parts of a schema that carry no information: the bounds of safe integers, the permission for further members of any type, a
 * choice between equal types, and `allOf` around a single schema.
 */
function override({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  const { additionalProperties: others } = jsonSchema;
  if (typeof others === 'object' && Object.keys(others).length === 0) delete jsonSchema.additionalProperties;
  const { items, allOf } = jsonSchema;
  const choice = typeof items === 'object' && !Array.isArray(items) ? items.anyOf : undefined;
  if (choice?.[0] && new Set(choice.map((one) => JSON.stringify(one))).size === 1) jsonSchema.items = choice[0];
  if (allOf?.length === 1 && Object.keys(jsonSchema).length === 1) {
    delete jsonSchema.allOf;
    Object.assign(jsonSchema, allOf[0]);
  }
}
