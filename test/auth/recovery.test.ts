import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { CalloutMethod } from '../../src/auth/callout.ts';
import { calloutOptions } from '../../src/auth/options.ts';
import type { EventDispatcher } from '../../src/events/dispatcher.ts';
import type { EventDraft } from '../../src/events/event.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLog } from '../../src/lib/log.ts';
import { MemoryUrlHealth } from '../../src/lib/remote/url-health.ts';
import { MemoryAcceptedCredentials } from '../../src/state/memory/callout-cache.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { until } from '../support/receiver.ts';

/** A clock with real durations, whose timers fire when the test says so. */
class TimerClock extends ManualClock {
  override monotonicMs(): number {
    return systemClock.monotonicMs();
  }
}

test('a callout method that failed its test at the start is tested again every minute until it passes', async (t) => {
  let status = 500;
  let asked = 0;
  const server = createServer((request, response) => {
    request.resume();
    asked++;
    response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const drafts: EventDraft[] = [];
  const events = { emit: (draft: EventDraft) => drafts.push(draft) } as unknown as EventDispatcher;
  const clock = new TimerClock();
  const options = calloutOptions.parse({
    type: 'http',
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}/`,
    timeout: 5,
  });
  const method = new CalloutMethod('m', options, {
    groupUuids: new Set(),
    serverUuid: 's',
    urlHealth: () => new MemoryUrlHealth(clock),
    accepted: (_, lifetimeMs) => new MemoryAcceptedCredentials(clock, lifetimeMs),
    events,
    clock,
    log: silentLog,
  });
  await method.start();
  assert.deepEqual([method.state, asked], ['failed', 1]);
  clock.advance(60_000);
  // While the request waits, its time-out is the only timer. The timer of the next test is set afterwards.
  await until('the second test failed, and the next is due in a minute', () => asked === 2 && clock.nextInMs === 60_000);
  assert.equal(method.state, 'failed');
  status = 401;
  clock.advance(60_000);
  await until('the method runs', () => method.state === 'running');
  assert.deepEqual([asked, clock.timers], [3, 0], 'once the method runs, no test is due');
  assert.deepEqual(
    drafts.map((draft) => draft.id),
    [20157, 20156],
    'one event when it failed, one when it recovered',
  );
  assert.match(String(drafts[0]?.data?.reason), /status 500/);
  await method.stop();
});
