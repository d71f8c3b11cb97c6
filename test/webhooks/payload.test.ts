import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseConfig } from '../../src/config/reading/load.ts';
import { parseSource } from '../../src/config/reading/source.ts';
import type { ServiceEvent } from '../../src/events/event.ts';
import { createEvent } from '../../src/events/event-factory.ts';
import { allTimestamps } from '../../src/events/timestamps.ts';
import { eventVariable } from '../../src/events/variables.ts';
import { eventHandlerOptions } from '../../src/webhooks/options.ts';
import type { Payload } from '../../src/webhooks/payload/create-payload.ts';
import { createPayload } from '../../src/webhooks/payload/create-payload.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';

const server = { uuid: 'srv', type: 'server', name: 'files "&" <x>' };
const awkward = `a&b<c>"d"'e'\r\n\t\u0001\ud800 ü 🙂 ]]> {id} ${'n'.repeat(200)}`;

function eventWith(data: Record<string, unknown>, name = 'alice'): ServiceEvent {
  const peer = { address: '192.0.2.1', port: 4711, protocol: 'TCP', family: 'IPv4' } as const;
  const account = { uuid: 'u', name, email: 'a@example.com', emails: [['A', 'a@example.com']] as [string, string][], peer };
  const component = { uuid: 'web', type: 'http', name: 'Files' };
  return createEvent({ id: 40017, context: { account, component }, data }, server, 1_591_402_889_123.5);
}

function payload(options: Record<string, unknown>): Payload {
  return createPayload(eventHandlerOptions.parse({ type: 'http', url: 'http://127.0.0.1/', ...options }), server);
}

function textOf(made: Payload, ...events: ServiceEvent[]): string {
  return made.render(events.map((event) => ({ event, raw: Buffer.from(JSON.stringify(event)) }))).body?.toString('utf8') ?? '';
}

test('JSON has the events, the server, and extra_data as members, with variables in keys and nested values', () => {
  const plain = payload({ batch_size: 3, extra_data: { fixed: [1, null, true], by: 'svc {{x}} on {server.name}' } });
  assert.equal(plain.isSingle, false, 'without variables of an event, a body can have several events');
  const events = [eventWith({ path: '/a' }), eventWith({ path: awkward })];
  assert.deepEqual(JSON.parse(textOf(plain, ...events)), {
    events: JSON.parse(JSON.stringify(events)),
    server: { uuid: 'srv', name: server.name },
    fixed: [1, null, true],
    by: `svc {x} on ${server.name}`,
  });
  const templated = payload({
    extra_data: {
      text: '{account.name}: {data.path}',
      'of {id}': { deep: [{ at: '{timestamp.iso_8601}' }, '{nothing}'] },
      size: '{data.n}',
    },
  });
  assert.equal(templated.isSingle, true);
  const body = JSON.parse(textOf(templated, eventWith({ path: awkward, n: 5 }, '","events":"x'))) as Record<string, unknown>;
  assert.deepEqual(Object.keys(body), ['events', 'server', 'text', 'of 40017', 'size']);
  assert.equal(body.text, `","events":"x: ${awkward}`);
  assert.deepEqual(body['of 40017'], { deep: [{ at: '2020-06-06T00:21:29Z' }, ''] });
  assert.equal(body.size, '5');
});

test('SOAP: an event with special characters of XML has exactly the expected body', () => {
  const made = payload({ http_content_type: 'soap', extra_data: { ticket: 'T-{id}', 'odd <name>\n': { deep: [[], { a: '' }] } } });
  const event = eventWith({ text: `a&b<c>"d"'e'\r\n\t\u0001\ud800]]>`, '1st': { xmlish: -0, yes: true, none: null }, list: [1, ['x']] });
  const peer = '<peer><address>192.0.2.1</address><port>4711</port><protocol>TCP</protocol><family>IPv4</family></peer>';
  const members =
    '<data><text>a&amp;b&lt;c&gt;&quot;d&quot;&apos;e&apos;&#13;\n\t]]&gt;</text>' +
    '<member name="1st"><member name="xmlish">0</member><yes>true</yes><none/></member>' +
    '<list><item>1</item><item><item>x</item></item></list></data>' +
    '<account><uuid>u</uuid><name>alice</name><email>a@example.com</email>' +
    `<emails><item><item>A</item><item>a@example.com</item></item></emails>${peer}</account>` +
    '<component><uuid>web</uuid><type>http</type><name>Files</name></component>' +
    '<server><uuid>srv</uuid><type>server</type><name>files &quot;&amp;&quot; &lt;x&gt;</name></server>';
  const times = Object.entries(allTimestamps(event.timestamp.timestamp)).map(([name, value]) => `<${name}>${value}</${name}>`);
  assert.equal(
    textOf(made, event),
    '<?xml version="1.0" encoding="utf-8"?>\n<soap:Envelope xmlns:soap="http://www.w3.org/2003/05/soap-envelope"><soap:Body>' +
      `<Events xmlns="urn:svc:events:1"><Event><id>40017</id><uuid>${event.uuid}</uuid><message>The file &quot;&quot; was uploaded.</message>` +
      `<created>${event.timestamp.timestamp}</created><timestamp>${times.join('')}</timestamp>${members}</Event></Events>` +
      '<ticket xmlns="urn:svc:events:1">T-40017</ticket><member xmlns="urn:svc:events:1" name="odd &lt;name&gt;&#10;">' +
      '<deep><item/><item><a/></item></deep></member></soap:Body></soap:Envelope>\n',
  );
});

test('if the value of a variable makes a key of extra_data `events` or `server`, the key is omitted; `__proto__` is an ordinary key', () => {
  const made = payload({ extra_data: { '{account.name}': 'mine', other: 1 } });
  assert.deepEqual(JSON.parse(textOf(made, eventWith({}, 'events'))).events.length, 1);
  assert.equal(JSON.parse(textOf(made, eventWith({}, 'server'))).server.uuid, 'srv');
  assert.match(textOf(made, eventWith({}, '__proto__')), /"__proto__":"mine"/);
});

test('extra_data as JSON text means the same as a map; the keys events and server are refused', () => {
  const event = eventWith({});
  assert.equal(textOf(payload({ extra_data: '{"a": "{id}"}' }), event), textOf(payload({ extra_data: { a: '{id}' } }), event));
  for (const name of ['events', 'server'])
    assert.equal(eventHandlerOptions.safeParse({ type: 'http', url: 'http://x/', extra_data: { [name]: 1 } }).success, false);
});

test('custom: the handler in the documentation sends the body that the documentation shows', () => {
  const page = readFileSync(join(process.env.SVC_ROOT ?? process.cwd(), 'docs/integrate/webhooks.md'), 'utf8');
  const [, handler = '', shown = ''] = /```yaml\n([^`]*http_content_type: custom[^`]*)```[^`]*```json\n([^`]*)\n```/.exec(page) ?? [];
  const config = parseConfig(parseSource('/nowhere/svc.config.yaml', handler), {});
  const options = config.event_handlers.audit;
  assert.ok(options);
  assert.equal(textOf(createPayload(options, server), eventWith({ path: '/inbox/a.csv', total_write: 1024 })), shown);
});

test('custom: the body is only the template, whose values are encoded as the content type needs', () => {
  const event = eventWith({ path: awkward, n: 5, list: ['a', 'b'] });
  const custom = (template: string, type?: string) =>
    payload({ http_content_type: 'custom', extra_data: template, ...(type ? { headers: { 'Content-Type': type } } : {}) });
  assert.equal(textOf(custom('{id} {data.list.1} {{ok}}'), event), '40017 b {ok}');
  assert.equal(custom('x').render([]).contentType, 'text/plain; charset=utf-8');
  const json = JSON.parse(
    textOf(custom('{"t":"{data.path}", "d": {data_json}, "n": {data.n}, "m": {message} }', 'application/json'), event),
  );
  assert.equal(json.t, awkward);
  assert.deepEqual(json.d, event.data);
  assert.deepEqual([json.n, json.m], [5, event.message]);
  assert.equal(textOf(custom('<a b="{account.name}"/>', 'text/xml'), eventWith({}, '"><x/>')), '<a b="&quot;&gt;&lt;x/&gt;"/>');
  const form = new URLSearchParams(
    textOf(custom('name={account.name}&x=1', 'application/x-www-form-urlencoded'), eventWith({}, 'a&x=2 ü')),
  );
  assert.deepEqual(
    [...form],
    [
      ['name', 'a&x=2 ü'],
      ['x', '1'],
    ],
  );
  assert.equal(
    eventHandlerOptions.safeParse({ type: 'http', url: 'http://x/', http_content_type: 'custom', extra_data: { a: 1 } }).success,
    false,
  );
});

test('with any value, a JSON template gives JSON with the same string', () => {
  const made = payload({
    http_content_type: 'custom',
    extra_data: '{"a\\"b":["{data.x}",{data.x}]}',
    headers: 'Content-Type: application/problem+json',
  });
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (x) => {
      const [inside] = Object.values(JSON.parse(textOf(made, eventWith({ x })))) as [[string, unknown]];
      assert.equal(inside[0], Buffer.from(x).toString('utf8'));
    }),
  );
});

test('a GET has no body, and extra_data goes into the query', () => {
  const made = payload({ request_method: 'get', extra_data: { id: '{id}', who: '{account.name}', n: 1 } });
  const { body, contentType, query } = made.render([{ event: eventWith({}), raw: Buffer.alloc(0) }]);
  assert.deepEqual([body, contentType], [undefined, undefined]);
  assert.deepEqual(query, [
    ['id', '40017'],
    ['who', 'alice'],
    ['n', '1'],
  ]);
});

const data = {
  path: awkward,
  files: ['a', 'b & c'],
  'not a name': 'x',
  '1st': { xmlish: 1, 'ü"<': null },
  empty: '',
  metadata: { 'project-id': ['7'] },
};

test('SOAP: an independent parser finds the body valid by the schema of the examples, and reads its values', (t) => {
  if (!hasProgram(t, 'xmllint')) return;
  const made = payload({ http_content_type: 'soap', extra_data: { ticket: 'T-{data.files.0}', 'odd name': { deep: ['<&>'] } } });
  const event = eventWith(data, 'al<i>ce');
  const path = join(temporaryFolder(t), 'body.xml');
  writeFileSync(path, textOf(made, event));
  const schema = join(process.env.SVC_ROOT ?? process.cwd(), 'examples/webhooks/soap-envelope.xsd');
  execFileSync('xmllint', ['--nonet', '--noout', '--schema', schema, path], { stdio: 'pipe' });
  const xpath = (expression: string) =>
    execFileSync('xmllint', ['--nonet', '--xpath', expression, path], { encoding: 'utf8' }).replace(/\n$/, '');
  const of = (...names: string[]) => `string(//*[local-name()="Event"]${names.map((name) => `/*[local-name()="${name}"]`).join('')})`;
  assert.equal(xpath(of('id')), '40017');
  assert.equal(xpath(of('uuid')), event.uuid);
  assert.equal(xpath(of('created')), '1591402889.123500');
  assert.equal(xpath(of('account', 'name')), 'al<i>ce');
  assert.equal(xpath(of('account', 'peer', 'port')), '4711');
  assert.equal(xpath(of('server', 'name')), server.name);
  assert.equal(xpath(of('data', 'path')), awkward.replace(/[\u0001\ud800]/g, ''));
  assert.equal(xpath('string(//*[local-name()="files"]/*[local-name()="item"][2])'), 'b & c');
  assert.equal(xpath('string(//*[@name="not a name"])'), 'x');
  assert.equal(xpath('string(//*[@name="1st"]/*[@name="xmlish"])'), '1');
  assert.equal(xpath('count(//*[@name="ü&quot;&lt;"])'.replace('&quot;', '"').replace('&lt;', '<').replace('"ü"<"', "'ü\"<'")), '1');
  assert.equal(xpath('string(//*[local-name()="Body"]/*[local-name()="ticket"])'), 'T-a');
  assert.equal(xpath('string(//*[local-name()="Body"]/*[@name="odd name"]/*/*)'), '<&>');
  for (const [name, value] of Object.entries(allTimestamps(event.timestamp.timestamp)))
    assert.equal(xpath(of('timestamp', name)), value, name);
  assert.equal(xpath('namespace-uri(/*)'), 'http://www.w3.org/2003/05/soap-envelope');
  assert.equal(made.render([]).contentType, 'application/soap+xml; charset=utf-8');
});

test('SOAP: any names and values give well-formed XML', (t) => {
  if (!hasProgram(t, 'xmllint')) return;
  const made = payload({ http_content_type: 'xml', batch_size: 50 });
  const anyData = fc.dictionary(fc.string({ unit: 'binary' }), fc.oneof(fc.string({ unit: 'binary' }), fc.jsonValue()));
  const path = join(temporaryFolder(t), 'body.xml');
  const samples = fc.sample(anyData, 300).map((sample) => eventWith(sample));
  writeFileSync(path, textOf(made, ...samples));
  execFileSync('xmllint', ['--nonet', '--noout', path], { stdio: 'pipe' });
  const count = execFileSync('xmllint', ['--nonet', '--xpath', 'count(//*[local-name()="Event"])', path], { encoding: 'utf8' });
  assert.equal(count.trim(), '300');
});

test('every variable has its value in extra_data, even if it is written in capitals', () => {
  const event = eventWith(data);
  const names = [
    'id',
    'uuid',
    'message',
    'data_json',
    'account.name',
    'account.email',
    'account.uuid',
    'component.name',
    'component.type',
    'component.uuid',
    'server.name',
    'server.uuid',
    'data.path',
    'account.peer.address',
    'account.peer.port',
    'account.peer.protocol',
    'account.peer.family',
    ...Object.keys(allTimestamps('0')).map((name) => `timestamp.${name}`),
  ];
  const made = payload({ extra_data: Object.fromEntries(names.map((name) => [name, `{${name.toUpperCase()}}`])) });
  const body = JSON.parse(textOf(made, event)) as Record<string, string>;
  for (const name of names) {
    assert.equal(body[name], eventVariable(event, name), name);
    assert.notEqual(body[name], '', name);
  }
});
