import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { asOperator, asViewer, startConsole } from '../support/console.ts';
import { EventReader } from '../support/event-reader.ts';
import { until } from '../support/receiver.ts';

async function listen(t: TestContext, url: string, headers: Record<string, string>): Promise<EventReader> {
  const reader = await EventReader.open(`${url}/api/live`, headers);
  t.after(() => reader.close());
  return reader;
}

interface Overview {
  services: { uuid: string; type: string; sessions: number; connections: number }[];
  errors: { id: string }[];
  journal: { bytes: number; free_bytes: number };
}

test('the overview first shows services and errors as they are, and then each change', async (t) => {
  const { server, console } = await startConsole(t);
  const headers = await console.session();
  const reader = await listen(t, console.url, headers);
  const first = (await reader.next('overview')) as Overview;
  assert.deepEqual(
    first.services.map(({ uuid, type }) => [uuid, type]),
    [
      ['web', 'http'],
      ['console', 'console'],
    ],
  );
  assert.ok(first.journal.bytes > 0 && first.journal.free_bytes > 0);
  await server.login();
  await server.get('/home/', { user: 'alice:wrong' });
  const changed = (await reader.nextWhere('overview', (value) => (value as Overview).errors.length > 0)) as Overview;
  assert.equal(changed.services[0]?.sessions, 1);
  assert.ok(changed.errors.some(({ id }) => id === '20021'));
  assert.equal((await console.get('/api/overview', asViewer)).json<Overview>().services.length, 2);
  assert.equal((await console.get('/api/samples', asOperator)).json<{ interval_seconds: number }>().interval_seconds, 10);
  const head = await console.send('HEAD', '/api/live', asOperator);
  assert.match(String(head.headers['content-type']), /^text\/event-stream/);
});

test('a live stream ends with the logout', async (t) => {
  const { console } = await startConsole(t);
  const headers = await console.session();
  const reader = await listen(t, console.url, headers);
  await reader.next('overview');
  await console.send('POST', '/api/logout', { headers });
  await until('the stream has ended', async () => reader.isEnded);
});
