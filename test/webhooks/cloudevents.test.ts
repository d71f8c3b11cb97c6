import assert from 'node:assert/strict';
import { test } from 'node:test';
import Ajv from 'ajv';
import addFormats from 'ajv-formats';
import { createEvent } from '../../src/events/event-factory.ts';
import { eventHandlerOptions } from '../../src/webhooks/options.ts';
import { createPayload } from '../../src/webhooks/payload/create-payload.ts';
import { startReceiver } from '../support/receiver.ts';
import { startServer } from '../support/server.ts';

const text = { type: 'string', minLength: 1 };
const optional = (schema: object) => ({ type: ['string', 'null'], minLength: 1, ...schema });

/** The JSON schema of CloudEvents 1.0.2 (github.com/cloudevents/spec, cloudevents/formats/cloudevents.json), without its texts. */
const schema = {
  type: 'object',
  required: ['id', 'source', 'specversion', 'type'],
  properties: {
    id: text,
    source: { ...text, format: 'uri-reference' },
    specversion: text,
    type: text,
    datacontenttype: optional({}),
    dataschema: optional({ format: 'uri' }),
    subject: optional({}),
    time: optional({ format: 'date-time' }),
    data: { type: ['object', 'string', 'number', 'array', 'boolean', 'null'] },
    data_base64: { type: ['string', 'null'], contentEncoding: 'base64' },
  },
};

const ajv = new Ajv.default({ strict: false, allErrors: true });
addFormats.default(ajv);
const validate = ajv.compile(schema);

/** Validates one event by the schema, and by the rules for names of attributes (1.0.2, "Naming Conventions"), which the schema lacks. */
function assertCloudEvent(value: unknown): asserts value is Record<string, unknown> {
  assert.ok(validate(value), JSON.stringify(validate.errors));
  for (const name of Object.keys(value as object)) assert.match(name, /^[a-z0-9]+$|^data_base64$/);
  assert.equal((value as Record<string, unknown>).specversion, '1.0');
}

const server = { uuid: 'a server|1', type: 'server', name: 'files' };

function eventWith(id: number, data: Record<string, unknown>) {
  const account = { uuid: 'u', name: 'alice', email: '', emails: [], peer: undefined as never };
  const component = { uuid: 'web', type: 'http', name: 'Files' };
  return createEvent({ id, context: { account, component }, data }, server, 1_591_402_889_123.5);
}

const rendered = (options: Record<string, unknown>, ...events: ReturnType<typeof eventWith>[]) => {
  const parsed = eventHandlerOptions.parse({ type: 'http', url: 'http://x/', http_content_type: 'cloudevents', ...options });
  const payload = createPayload(parsed, server);
  const outgoing = events.map((event) => ({ event, raw: Buffer.from(JSON.stringify(event)) }));
  return { ...payload.render(outgoing), isSingle: payload.isSingle };
};

test('an event as a CloudEvent has the attributes of the specification, with any path', () => {
  for (const path of ['/in/a.csv', '/ä "b"\n', `/${'x'.repeat(5000)}`, undefined, '']) {
    const event = eventWith(40017, { path });
    const { body, contentType, isSingle } = rendered({}, event);
    assert.deepEqual([contentType, isSingle], ['application/cloudevents+json', true]);
    const made: unknown = JSON.parse(String(body));
    assertCloudEvent(made);
    const { data, ...attributes } = made;
    assert.deepEqual(attributes, {
      specversion: '1.0',
      id: event.uuid,
      source: 'urn:svc:server:a%20server%7C1',
      type: 'svc.event.40017',
      ...(path && { subject: path }),
      time: '2020-06-06T00:21:29.123500000Z',
      datacontenttype: 'application/json',
    });
    assert.deepEqual(data, JSON.parse(JSON.stringify(event)));
  }
});

test('with batch_size above 1 the body is a batch, even of one event; journal-only members are omitted', () => {
  for (const count of [1, 3]) {
    const events = Array.from({ length: count }, () => eventWith(20136, { response: { code: 'inner', extra: 'inner', message: 'said' } }));
    const { body, contentType, isSingle } = rendered({ batch_size: 50, cloudevents_type_prefix: 'com.example' }, ...events);
    assert.deepEqual([contentType, isSingle], ['application/cloudevents-batch+json', false]);
    const made = JSON.parse(String(body)) as unknown[];
    assert.equal(made.length, count);
    for (const item of made) {
      assertCloudEvent(item);
      assert.equal(item.type, 'com.example.20136');
      assert.deepEqual((item.data as { data: unknown }).data, { response: { message: 'said' } });
    }
  }
});

test('a handler that sends CloudEvents may not have extra_data', () => {
  const parse = (extra_data: unknown) =>
    eventHandlerOptions.safeParse({ type: 'http', url: 'http://x/', http_content_type: 'cloudevents', extra_data }).success;
  assert.deepEqual([parse({ a: 1 }), parse('{"a": 1}'), parse({}), parse('')], [false, false, true, true]);
});

test('an upload is delivered as a CloudEvent whose ID is the webhook-id', async (t) => {
  const receiver = await startReceiver(t);
  const crm = { type: 'http', target: 40017, url: receiver.url, http_content_type: 'cloudevents', signing_secret: 'whsec_c2VjcmV0' };
  const service = await startServer(t, { event_handlers: { crm } });
  await service.put('/home/a.txt', 'x');
  const [request] = await receiver.received(1);
  assert.equal(request?.headers['content-type'], 'application/cloudevents+json');
  const made: unknown = JSON.parse(String(request?.body));
  assertCloudEvent(made);
  assert.deepEqual([made.subject, made.id], ['/a.txt', request?.headers['webhook-id']]);
});
