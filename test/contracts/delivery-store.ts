import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { JournalledDispatcher } from '../../src/events/dispatcher.ts';
import { processAccount } from '../../src/events/event-factory.ts';
import type { EventLog } from '../../src/events/journal/event-log.ts';
import { comparePositions } from '../../src/events/journal/position.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLog } from '../../src/lib/log.ts';
import { MemoryUrlHealth } from '../../src/lib/remote/url-health.ts';
import { DeliveryEngine } from '../../src/webhooks/engine/delivery-engine.ts';
import type { DeliveryStore } from '../../src/webhooks/engine/delivery-store.ts';
import { eventHandlerOptions } from '../../src/webhooks/options.ts';
import type { DeliveryRecords } from '../../src/webhooks/records/delivery-record.ts';
import type { WaitingRetry } from '../../src/webhooks/retries.ts';
import { type Receiver, startReceiver, until } from '../support/receiver.ts';

export interface DeliveryGround {
  store: DeliveryStore;
  journal: EventLog;
  records: DeliveryRecords;
}

const server = { uuid: 'server', type: 'server', name: 'test' };

function notHere(): never {
  throw new Error('No file is forwarded here.');
}

/** An engine with one handler, `crm`, for events 40017. */
class Engine {
  readonly engine: DeliveryEngine;
  readonly events: JournalledDispatcher;
  readonly ground: DeliveryGround;
  #stopped: Promise<boolean> | undefined;
  #ended: Promise<void> | undefined;

  constructor(ground: DeliveryGround) {
    this.ground = ground;
    this.events = new JournalledDispatcher(ground.journal, server, systemClock);
    const urlHealth = () => new MemoryUrlHealth(systemClock);
    const { journal } = ground;
    const forward = { open: notHere, connectSftp: notHere };
    const shared = { journal, events: this.events, server, forward };
    this.engine = new DeliveryEngine(ground.store, { ...shared, urlHealth, clock: systemClock, log: silentLog });
  }

  async apply(url: string, options: Record<string, unknown> = {}): Promise<void> {
    const crm = eventHandlerOptions.parse({ type: 'http', target: '40017', url, ...options });
    await this.engine.apply(this.engine.prepare({ crm }), ['crm']);
    await until('this process owns the handler', async () => (await this.state()) !== 'stopped');
  }

  emit(from: number, to: number): void {
    for (let index = from; index < to; index++) this.events.emit(draft(index));
  }

  async state(): Promise<string | undefined> {
    return (await this.engine.figures())[0]?.state;
  }

  stop(timeoutMs = 10_000): Promise<boolean> {
    this.#stopped ??= this.engine.stop(timeoutMs);
    return this.#stopped;
  }

  end(): Promise<void> {
    this.#ended ??= this.stop().then(() => this.ground.journal.close());
    return this.#ended;
  }
}

function draft(index: number) {
  return { id: 40017, context: { account: processAccount(), component: server }, data: { path: `/${index}` } };
}

const sent = (receiver: Receiver) => receiver.events().map(({ data }) => Number(String(data.path).slice(1)));
const row = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index);

/**
 * The contract of a `DeliveryStore`, tested through the delivery engine.
 *
 * @param openOrSkip prepares an empty store. Returns undefined if the store is not available here. Each call of the
 *   returned `open` stands for the next process, after the previous one has ended
 */
export function deliveryStoreContract(
  name: string,
  openOrSkip: (t: TestContext) => Promise<{ open: () => Promise<DeliveryGround> } | undefined>,
): void {
  const contract = (what: string, body: (start: () => Promise<Engine>, t: TestContext) => Promise<void>) =>
    test(`${name}: ${what}`, { timeout: 60_000 }, async (t) => {
      const opened = await openOrSkip(t);
      if (!opened) return;
      const begun: Engine[] = [];
      const start = async () => {
        const engine = new Engine(await opened.open());
        begun.push(engine);
        return engine;
      };
      try {
        await body(start, t);
      } finally {
        for (const engine of begun) await engine.end();
      }
    });

  contract('uploads are delivered while the handler moves to another node and back', async (start, t) => {
    const receiver = await startReceiver(t, { otherwise: { delayMs: 100 } });
    const here = await start();
    const { store } = here.ground;
    let owners = 0;
    const acquire = store.acquire.bind(store);
    store.acquire = async (...asked) => {
      const owned = await acquire(...asked);
      if (!owned) return undefined;
      owners++;
      // The result 0 gives the handler up, as if another node had asked for the handler.
      const keep = owned.keep.bind(owned);
      owned.keep = async (...told) => {
        await keep(...told);
        return 0;
      };
      return owned;
    };
    await here.apply(receiver.url);
    const outcomes: string[] = [];
    for (let index = 0; owners < 3; index++) {
      here.emit(index, index + 1);
      outcomes.push((await here.events.emitAndWait(draft(index), 'crm')).delivery.outcome);
    }
    assert.deepEqual(new Set(outcomes), new Set(['delivered']));
  });

  contract('events are delivered in order, each once, and each delivery is recorded', async (start, t) => {
    const receiver = await startReceiver(t);
    const here = await start();
    await here.apply(receiver.url);
    here.emit(0, 20);
    await receiver.received(20);
    assert.deepEqual(sent(receiver), row(0, 20));
    const { records } = here.ground;
    const recorded: string[] = [];
    await until('all deliveries are recorded', async () => {
      recorded.length = 0;
      for await (const { record } of records.read('deliveries', undefined, assert.fail)) recorded.push(record.outcome);
      return recorded.length >= 20;
    });
    assert.deepEqual(recorded, new Array(20).fill('delivered'));
  });

  contract('the next process continues where the previous one ended', async (start, t) => {
    const receiver = await startReceiver(t);
    const first = await start();
    await first.apply(receiver.url);
    first.emit(0, 3);
    await receiver.received(3);
    assert.equal(await first.stop(), true);
    first.emit(3, 6);
    await first.end();
    const second = await start();
    await second.apply(receiver.url);
    await receiver.received(6);
    second.emit(6, 7);
    await receiver.received(7);
    assert.deepEqual(sent(receiver), row(0, 7));
  });

  contract('changed options apply after the running request: nothing is cut, lost or repeated', async (start, t) => {
    const receiver = await startReceiver(t, { script: [{ isHeld: true }] });
    const here = await start();
    await here.apply(receiver.url);
    here.emit(0, 3);
    await receiver.received(1);
    await here.apply(`${receiver.url}?changed`);
    await new Promise(setImmediate);
    assert.equal(receiver.requests.length, 1, 'requests are sent one at a time');
    receiver.release();
    await receiver.received(3);
    assert.deepEqual(sent(receiver), row(0, 3));
    assert.deepEqual(
      receiver.requests.map(({ url }) => url.includes('changed')),
      [false, true, true],
    );
  });

  contract(
    'the next process continues a delivery that waits for a retry: at its due time, and with its earlier failures',
    async (start, t) => {
      const receiver = await startReceiver(t, { script: [{ status: 500 }, { status: 429, headers: { 'retry-after': '2' } }] });
      const options = { retry_backoff: 'exponential', retry_increase: 0.001, retry_count: 5, retry_for: '3d' };
      const first = await start();
      await first.apply(receiver.url, options);
      first.emit(0, 2);
      await receiver.received(2);
      await first.end();
      const second = await start();
      const { store } = second.ground;
      let waiting: readonly WaitingRetry[] = [];
      const acquire = store.acquire.bind(store);
      store.acquire = async (...asked) => {
        const owned = await acquire(...asked);
        if (owned && owned.waiting.length > 0) waiting = owned.waiting;
        return owned;
      };
      await second.apply(receiver.url, options);
      await receiver.received(4);
      assert.deepEqual(sent(receiver), [0, 0, 0, 1]);
      const [wait] = waiting;
      assert.equal(waiting.length, 1);
      // A 429 does not count as a failure.
      assert.deepEqual([wait?.event, wait?.failures, wait?.urlIndex], [receiver.events()[0]?.uuid, 1, 0]);
      const [begun, , resumed] = receiver.requests;
      assert.ok(wait && begun && resumed && wait.sinceMs <= begun.atMs && resumed.atMs >= wait.dueMs);
    },
  );

  contract('a paused handler stays paused after a restart, keeps its position, and continues when it is resumed', async (start, t) => {
    const receiver = await startReceiver(t);
    const first = await start();
    await first.apply(receiver.url);
    first.emit(0, 1);
    await receiver.received(1);
    await first.engine.pause('crm', 'alice');
    assert.equal(await first.state(), 'paused');
    first.emit(1, 3);
    await first.end();
    const second = await start();
    await second.ground.store.refresh();
    await second.apply(receiver.url);
    assert.equal((await second.engine.figures())[0]?.reason, 'paused by alice');
    assert.deepEqual(sent(receiver), [0]);
    await second.engine.resume('crm', 'bob');
    await receiver.received(3);
    assert.deepEqual(sent(receiver), row(0, 3));
    await until('the handler is shown as running', async () => (await second.state()) === 'running');
  });

  contract(
    'a handler that stopped after failures stays stopped until it is started, and then delivers the remaining events',
    async (start, t) => {
      const receiver = await startReceiver(t, { script: [{ status: 500 }, { status: 500 }] });
      const here = await start();
      await here.apply(receiver.url, { fail_after_errors: 2 });
      here.emit(0, 4);
      await until('the handler has stopped', async () => (await here.state()) === 'stopped');
      assert.match((await here.engine.figures())[0]?.reason ?? '', /2 deliveries failed in a row/);
      await receiver.received(2);
      assert.equal(receiver.requests.length, 2);
      await here.engine.start('crm', 'alice');
      await receiver.received(4);
      assert.deepEqual(sent(receiver), row(0, 4), 'failed deliveries are not repeated, and later events were not lost');
    },
  );

  contract('an event that an upload waits for is delivered once, not again in the background', async (start, t) => {
    const receiver = await startReceiver(t, { script: [{ isHeld: true }] });
    const here = await start();
    await here.apply(receiver.url);
    const waiting = here.events.emitAndWait(draft(0), 'crm');
    await receiver.received(1);
    here.emit(1, 3);
    await receiver.received(3);
    receiver.release();
    assert.equal((await waiting).delivery.outcome, 'delivered');
    here.emit(3, 4);
    await receiver.received(4);
    assert.deepEqual(sent(receiver), row(0, 4));
    const { journal } = here.ground;
    await until('the position is after all events', async () =>
      (await here.engine.figures()).every(({ position }) => comparePositions(position, journal.end) >= 0),
    );
  });

  contract('a delivery that was abandoned when its process stopped is repeated by the next process', async (start, t) => {
    const receiver = await startReceiver(t, { script: [{ fault: 'hang' }] });
    const first = await start();
    await first.apply(receiver.url);
    first.emit(0, 2);
    await receiver.received(1);
    assert.equal(await first.stop(1), false);
    await first.end();
    const second = await start();
    await second.apply(receiver.url);
    await receiver.received(3);
    assert.deepEqual(sent(receiver), [0, 0, 1]);
  });
}
