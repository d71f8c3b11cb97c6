import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServiceEvent } from '../../src/events/event.ts';
import { eventHandlerOptions } from '../../src/webhooks/options.ts';
import { createSubscription } from '../../src/webhooks/subscription.ts';

const upload: ServiceEvent = {
  id: '40017',
  uuid: 'u',
  message: '',
  timestamp: { timestamp: '1.000000', cwa_14051: '' },
  data: { path: '/in/a.pdf', api_backend: 'yes', total_write: 10, metadata: { label: ['x'] } },
  account: { uuid: 'id-7', name: 'alice', peer: { address: '10.1.2.3', port: 1, protocol: 'TCP', family: 'IPv4' } },
  component: { uuid: 'web', type: 'http', name: 'Files' },
  server: { uuid: 's', type: 'server', name: 's' },
};

function wants(filters: Record<string, unknown>, event: Partial<ServiceEvent> = {}, group: string | undefined = 'STAFF'): boolean {
  const options = eventHandlerOptions.parse({ type: 'http', url: 'http://127.0.0.1/', ...filters });
  return createSubscription('me', options)({ ...upload, ...event }, group);
}

const cases: [filters: Record<string, unknown>, isWanted: boolean][] = [
  [{}, true],
  [{ target: '40017, 40022' }, true],
  [{ target: 40017 }, true],
  [{ target: '40022' }, false],
  [{ target: '!40017' }, false],
  [{ target: '!40004' }, true],
  [{ target: '40017, !40017' }, false],
  [{ groups: 'operation-write' }, true],
  [{ groups: 'operation-read' }, false],
  [{ groups: '!success' }, false],
  [{ groups: 'operation-write, !failure' }, true],
  [{ usernames: 'alice, bob' }, true],
  [{ usernames: 'Alice' }, false],
  [{ usernames: 'al*' }, true],
  [{ usernames: '!alice' }, false],
  [{ usernames: '*, !al*' }, false],
  [{ user_groups: 'STAFF' }, true],
  [{ user_groups: 'GUESTS' }, false],
  [{ user_groups: '!STAFF' }, false],
  [{ components: 'web' }, true],
  [{ components: '!web' }, false],
  [{ source_addresses: '10.0.0.0/8' }, true],
  [{ source_addresses: '10.0.0.0/8, !10.1.2.3' }, false],
  [{ source_addresses: '2001:db8::/32' }, false],
  [{ data_filter: 'api_backend, yes' }, true],
  [{ data_filter: 'api_backend, YES' }, true],
  [{ data_filter: 'api_backend, no' }, false],
  [{ data_filter: 'api_backend, !yes' }, false],
  [{ data_filter: 'api_backend, yes\npath, *.pdf' }, true],
  [{ data_filter: 'api_backend, yes\npath, *.txt' }, false],
  [{ data_filter: 'path, e/\\.PDF$/i' }, true],
  [{ data_filter: 'path, *.txt | *.pdf' }, true],
  [{ data_filter: 'absent, *' }, false],
  [{ data_filter: 'absent, !yes' }, true],
  [{ data_filter: 'metadata.label.0, x' }, true],
  [{ data_filter: 'total_write, 10' }, true],
  [{ data_filter: { api_backend: true } }, false],
  [{ data_filter: { api_backend: 'yes', path: '/in/*' } }, true],
];

for (const [filters, isWanted] of cases)
  test(`${JSON.stringify(filters)}: ${isWanted ? 'wanted' : 'not wanted'}`, () => assert.equal(wants(filters), isWanted));

test('an event without a group does not match the filter STAFF, and !STAFF does not exclude it', () => {
  assert.equal(wants({ user_groups: 'STAFF' }, {}, ''), false);
  assert.equal(wants({ user_groups: '!STAFF' }, {}, ''), true);
});

test('no handler gets events about its own deliveries or about deliveries of such events', () => {
  for (const id of ['20174', '20189', '40042']) {
    assert.equal(wants({}, { id, data: { uuid: 'me', event_id: '40017' } }), false, `${id} of its own`);
    assert.equal(wants({}, { id, data: { uuid: 'other', event_id: '40017' } }), true, `${id} of another`);
    assert.equal(wants({}, { id, data: { uuid: 'other', event_id: '20174' } }), false, `${id} about an event 20174`);
  }
  assert.equal(wants({}, { id: '20066', data: { uuid: 'me' } }), true);
});

test('invalid filters, headers and secrets of a handler are refused with a reason', () => {
  for (const [filters, message] of [
    [{ target: '12' }, /not an event ID/],
    [{ target: 'all' }, /not an event ID/],
    [{ groups: 'uploads' }, /not an event group/],
    [{ source_addresses: '10.0.0.0/99' }, /neither an IP address/],
    [{ data_filter: 'path' }, /member, expression/],
    [{ data_filter: 'path, e/(/' }, /does not parse/],
    [{ headers: 'Transfer-Encoding: chunked' }, /belongs to the connection/],
    [{ headers: 'Webhook-Id: 1', signing_secret: 'whsec_AAAA' }, /set when requests are signed/],
    [{ signing_secret: 'whsec_not base64' }, /must be base64/],
  ] as const) {
    const result = eventHandlerOptions.safeParse({ type: 'http', url: 'http://127.0.0.1/', ...filters });
    assert.equal(result.success, false, JSON.stringify(filters));
    assert.match(result.error?.issues.map((issue) => issue.message).join('; ') ?? '', message);
  }
});
