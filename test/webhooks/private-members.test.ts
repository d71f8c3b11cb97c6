import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ServiceEvent } from '../../src/events/event.ts';
import { eventHandlerOptions } from '../../src/webhooks/options.ts';
import { createPayload } from '../../src/webhooks/payload/create-payload.ts';
import { calloutEndpoint } from '../support/callout-endpoint.ts';
import { run, start } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { startReceiver } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temp.ts';

const privateParts = /47114711|ticket-of-the-audit/;
const failure = { code: 47114711, extra: 'ticket-of-the-audit', message: 'locked', public_response: { code: 'shown', extra: 'shown' } };
const variables = '{data.response.code} {data.response.extra} {DATA.RESPONSE.Extra} {data.response} {data_json}';

/** Handlers of every format, and templates that contain the private members. */
const handlers: Record<string, Record<string, unknown>> = {
  json: { http_content_type: 'json' },
  named: { http_content_type: 'json', extra_data: { text: variables, '{data.response.code}': 1 } },
  xml: { http_content_type: 'xml', extra_data: { text: variables } },
  custom: { http_content_type: 'custom', extra_data: variables },
  json_template: {
    http_content_type: 'custom',
    headers: 'Content-Type: application/json',
    extra_data: '{"all":{data_json},"text":"{data_json}"}',
  },
  query: { request_method: 'get', extra_data: { text: variables } },
};

test('code and extra of a 403 of a callout are only in the journal: no handler, client or replay gets them', async (t) => {
  const remote = await calloutEndpoint(t, (response) => response.writeHead(403).end(JSON.stringify(failure)));
  const receiver = await startReceiver(t);
  const cwd = temporaryFolder(t);
  const event_handlers = Object.fromEntries(
    Object.entries(handlers).map(([uuid, options]) => [uuid, { type: 'http', target: '20136', url: receiver.url, ...options }]),
  );
  const config = {
    server: { data_folder_path: 'data', log: { level: 'debug' } },
    authentications: { remote: { type: 'http', url: remote.url } },
    services: { web: { type: 'http', port: 0, public_error: true } },
    event_handlers,
  };
  writeFileSync(join(cwd, 'svc.config.json'), JSON.stringify(config));
  const server = start(t, ['serve'], { cwd });
  const client = new Client((await server.line(/(http:\S+)\/\n/))[1] ?? '');
  for (const accept of ['application/json', 'text/html']) {
    const reply = await client.get('/home/', { user: 'zoe:wrong-anyway', headers: { accept } });
    assert.equal(privateParts.test(JSON.stringify(reply.headers) + reply.text), false);
  }
  const count = Object.keys(handlers).length * 2;
  await receiver.received(count);
  server.child.kill('SIGTERM');
  const ended = await server.ended;
  assert.equal(privateParts.test(ended.stderr), false, 'the log has no private member');

  const journal = await run(t, ['events', '--id', '20136', '--json'], { cwd });
  const events = journal.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as ServiceEvent);
  assert.deepEqual(
    events.map(({ data }) => data.response),
    [failure, failure],
  );
  writeFileSync(join(cwd, 'events.ndjson'), journal.stdout);
  let sent = count;
  for (const [args, more] of [
    [['webhook-replay', '--id', '20136'], count],
    [['webhook-replay', '--id', '20136', '--exact'], count],
    [['webhook-replay', 'events.ndjson', '--url', receiver.url], 2],
    [['webhook-replay', 'events.ndjson', '--dry-run'], 0],
    [['webhook-replay', '--id', '20136', '--diff'], 0],
  ] as const) {
    const end = await run(t, [...args], { cwd });
    assert.equal(end.code, 0, `${args.join(' ')}: ${end.stderr}`);
    assert.equal(privateParts.test(end.stdout + end.stderr), false, args.join(' '));
    sent += more;
    await receiver.received(sent);
  }
  for (const { url, body, headers } of receiver.requests) {
    const text = `${decodeURIComponent(url)}${JSON.stringify(headers)}${body}`;
    assert.equal(privateParts.test(text), false, text);
    if (body.length > 0 && headers['content-type'] === 'application/json' && text.includes('"events"'))
      assert.deepEqual((JSON.parse(body.toString('utf8')) as { events: ServiceEvent[] }).events[0]?.data.response, {
        message: failure.message,
        public_response: failure.public_response,
      });
  }
  const written = readdirSync(join(cwd, 'data'), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const holding = written.filter(({ parentPath, name }) => privateParts.test(readFileSync(join(parentPath, name), 'utf8')));
  assert.ok(written.some(({ name }) => name.startsWith('deliveries-')));
  assert.deepEqual(
    holding.map(({ name }) => name.replace(/\d+/, 'N')),
    ['events-N.ndjson'],
    'in the data folder, only the journal has private members',
  );
});

test('the body of a 403 of a callout is passed on if it is text, but not if it is malformed JSON', () => {
  const payload = createPayload(eventHandlerOptions.parse({ type: 'http', url: 'http://127.0.0.1/' }), {
    uuid: 's',
    type: 'server',
    name: 's',
  });
  const shown = (id: string, response: unknown) => {
    const event = { id, uuid: 'u', message: 'm', timestamp: { timestamp: '1', cwa_14051: '' }, data: { username: 'zoe', response } };
    const { body } = payload.render([{ event: event as unknown as ServiceEvent, raw: Buffer.from(JSON.stringify(event)) }]);
    return (JSON.parse(body?.toString('utf8') ?? '') as { events: ServiceEvent[] }).events[0]?.data;
  };
  assert.deepEqual(shown('20136', 'locked until Monday'), { username: 'zoe', response: 'locked until Monday' });
  for (const broken of ['{"code":7,"extra":"secret"}<br>', '[{"extra":"secret"}]', '{"extra":"secr'])
    assert.deepEqual(shown('20136', broken), { username: 'zoe' });
  assert.deepEqual(shown('20136', undefined), { username: 'zoe' });
  assert.deepEqual(shown('20136', { extra: 1, other: 2 }), { username: 'zoe', response: { other: 2 } });
  assert.deepEqual(shown('40017', { extra: 1, code: 2 }), { username: 'zoe', response: { extra: 1, code: 2 } });
});
