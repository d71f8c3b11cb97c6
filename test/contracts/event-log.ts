import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { ServiceEvent } from '../../src/events/event.ts';
import { createEvent, processAccount } from '../../src/events/event-factory.ts';
import type { EventLog, LoggedEvent, RawBlock, RawEvent } from '../../src/events/journal/event-log.ts';
import { comparePositions, formatPosition, type LogPosition, parsePosition } from '../../src/events/journal/position.ts';
import type { EventSelection } from '../../src/events/journal/search/event-selection.ts';
import { newestEvents, searchPage } from '../../src/events/journal/search/search.ts';
import { systemClock } from '../../src/lib/clock.ts';

const server = { uuid: 'server', type: 'server', name: 'test' };

/** Returns an event with a text in its data. */
export function testEvent(text = ''): ServiceEvent {
  const context = { account: processAccount(), component: server };
  return createEvent({ id: 20011, context, data: { text } }, server, 1_700_000_000_123.456);
}

/** Returns all events of a journal from a position on. Fails on a malformed line. */
export async function readAll(log: Pick<EventLog, 'openReader'>, from?: LogPosition): Promise<LoggedEvent[]> {
  const all: LoggedEvent[] = [];
  const reader = log.openReader((bad: { reason: string }) => assert.fail(`bad line: ${bad.reason}`));
  for (let position = from; ; ) {
    const { events, next } = await reader.next(position);
    if (events.length === 0 && position && comparePositions(next, position) === 0) break;
    all.push(...events);
    position = next;
  }
  reader.close();
  return all;
}

async function readAllRaw(log: Pick<EventLog, 'openRawReader'>): Promise<RawEvent[]> {
  const all: RawEvent[] = [];
  const reader = log.openRawReader();
  for (let position = { segment: 0, offset: 0 }; ; ) {
    const block = await reader.next(position);
    const events = await block.events();
    assert.equal(block.count, events.length);
    assert.ok(block.bytes >= events.reduce((sum, { raw }) => sum + raw.length, 0));
    if (events.length === 0) break;
    assert.deepEqual(block.position, events[0]?.position);
    all.push(...events);
    position = block.next;
  }
  reader.close();
  return all;
}

/**
 * The contract of `EventLog`.
 *
 * @param openOrSkip opens an empty journal, which the test closes; returns undefined if it is not available here
 */
export function eventLogContract(name: string, openOrSkip: (t: TestContext) => Promise<EventLog | undefined>): void {
  const contract = (what: string, body: (log: EventLog) => Promise<void>) =>
    test(`${name}: ${what}`, async (t) => {
      const log = await openOrSkip(t);
      if (log) await body(log);
    });
  contract('events are read in order, whole, byte for byte', async (log) => {
    const texts = ['a', '', 'line\nbreak\r\n', '\ud800 lone', 'ü 🙂', '\0', 'x'.repeat(1_000_000), '"}\n{"id":"1","uuid":"2"}'];
    const events = texts.map(testEvent);
    for (const [index, event] of events.entries()) {
      if (index % 2 === 0) assert.ok(log.append(event));
      else assert.ok(await log.appendDurable(event));
    }
    const read = await readAll(log);
    assert.deepEqual(
      read.map(({ raw }) => raw.toString('utf8')),
      events.map((event) => JSON.stringify(event)),
    );
    assert.deepEqual(
      read.map(({ event }) => event),
      events.map((event) => JSON.parse(JSON.stringify(event))),
    );
    const places = ({ raw, position, next }: RawEvent) => ({ text: raw.toString('utf8'), position, next });
    assert.deepEqual((await readAllRaw(log)).map(places), read.map(places));
    await log.close();
  });

  contract('the events of several blocks can be read concurrently, even if their reader is closed meanwhile', async (log) => {
    const appended = Array.from({ length: 6 }, (_, index) => testEvent(`${index} ${'x'.repeat(200_000)}`));
    for (const event of appended) await log.appendDurable(event);
    const reader = log.openRawReader();
    const blocks: RawBlock[] = [];
    for (let position = { segment: 0, offset: 0 }; ; position = (blocks.at(-1) as RawBlock).next) {
      const block = await reader.next(position);
      if (block.count === 0) break;
      blocks.push(block);
    }
    const taken = blocks.map((block) => block.events());
    reader.close();
    const texts = (await Promise.all(taken)).flat().map(({ raw }) => raw.toString('utf8'));
    assert.deepEqual(
      texts,
      appended.map((event) => JSON.stringify(event)),
    );
    await log.close();
  });

  contract('a reader of a growing journal gets each line once and in order, however far it is behind', async (log) => {
    const reader = log.openRawReader();
    const read: RawEvent[] = [];
    let position = log.end;
    const begin = position;
    const readOn = async (most: number) => {
      for (let blocks = 0; blocks < most; blocks++) {
        const block = await reader.next(position);
        if (block.count === 0) return;
        const events = await block.events();
        assert.equal(events.length, block.count);
        read.push(...events);
        position = block.next;
      }
    };
    let written = 0;
    const write = async (count: number, textLength: number) => {
      for (let index = 0; index < count; index++) log.append(testEvent(`${written++} ${'x'.repeat(textLength)}`));
      for (let index = 0; index < 3; index++) log.appendGrouped(testEvent(`${written++} of a group`));
      await log.grouped();
      await log.appendDurable(testEvent(`${written++} durable`));
    };
    await write(5, 10);
    await readOn(1);
    await write(200, 500);
    await readOn(1);
    await write(10, 200_000);
    // The reader needs events that are no longer in memory, and more events are written meanwhile.
    await write(130, 70_000);
    await readOn(3);
    await write(200, 500);
    const writing = write(50, 70_000);
    await readOn(5);
    await writing;
    await readOn(Number.POSITIVE_INFINITY);
    await write(1, 10);
    await readOn(Number.POSITIVE_INFINITY);
    reader.close();
    const all = await readAll(log, begin);
    assert.equal(all.length, written);
    const places = ({ raw, position: at, next }: RawEvent) => ({ text: raw.toString('utf8').slice(0, 1000), at, next });
    assert.deepEqual(read.map(places), all.map(places));
    await log.close();
  });

  contract('positions are ordered and stay the same if written as text and read again; a reader can start at each', async (log) => {
    const appended: LogPosition[] = [];
    for (let index = 0; index < 10; index++) appended.push((await log.appendDurable(testEvent(String(index)))) as LogPosition);
    const read = await readAll(log);
    assert.deepEqual(
      read.map(({ position }) => position),
      appended,
    );
    for (const [index, { position, next }] of read.entries()) {
      assert.ok(comparePositions(position, next) < 0);
      const again = parsePosition(formatPosition(position));
      assert.deepEqual(again, position);
      assert.deepEqual(
        (await readAll(log, again)).map(({ event }) => event.data.text),
        Array.from({ length: 10 - index }, (_, offset) => String(index + offset)),
      );
      assert.equal((await readAll(log, next)).length, 9 - index);
    }
    assert.deepEqual(await readAll(log, log.end), []);
    await log.close();
  });

  contract('the events of one account are found, the newest first', async (log) => {
    const of = (uuid: string, text: string): ServiceEvent => ({ ...testEvent(text), account: { ...testEvent().account, uuid } });
    // One text is longer than a single read, and one contains the pattern that identifies the account.
    const texts = ['first', 'x'.repeat(600_000), 'with "uuid":"alice" in it', '', 'y'.repeat(250_000), 'last'];
    for (const text of texts) {
      log.append(of('alice', text));
      await log.appendDurable(of('alice2', `not mine: ${text}`));
      log.append({ ...testEvent('of the process'), data: { uuid: 'alice' } });
    }
    const found: unknown[] = [];
    const account = { id: [], uuid: [], account: ['alice'] };
    for await (const { event } of newestEvents(log, account)) found.push(event.data.text);
    assert.deepEqual(found, texts.toReversed());
    for await (const { event } of newestEvents(log, { ...account, account: ['nobody'] })) assert.fail(event.id);
    await log.close();
  });

  contract('a search matches every field of an event, page by page, and accepts any cursor', async (log) => {
    const { account } = testEvent();
    const events: ServiceEvent[] = Array.from({ length: 30 }, (_, index) => ({
      ...testEvent(`text ${index} (.*) "quoted" ü`),
      id: index % 3 === 0 ? '40017' : '40039',
      timestamp: { timestamp: `${1_700_000_000 + index}.000000`, cwa_14051: '' },
      data: { ...testEvent(`text ${index} (.*) "quoted" ü`).data, path: `/in/${index % 5}/a,b`, request_id: `r${index}` },
      account: {
        ...account,
        uuid: `u${index % 2}`,
        name: index % 2 === 0 ? 'smith, john' : 'ü',
        peer: { ...account.peer, address: `192.0.2.${index}` },
      },
    }));
    for (const [index, event] of events.entries()) await log.appendDurable(event, { group: `g${index % 4}`, takenBy: undefined });
    const uuids = (wanted: (index: number) => boolean) => events.flatMap(({ uuid }, index) => (wanted(index) ? [uuid] : [])).toReversed();
    const search = async (selection: Partial<EventSelection>, before?: LogPosition, most = 1000) => {
      const limits = { events: most, bytes: 1e9, timeMs: 1e6 };
      return searchPage(log, { id: [], uuid: [], ...selection }, { before, limits, clock: systemClock });
    };
    const found = async (selection: Partial<EventSelection>) => (await search(selection)).events.map(({ event }) => event.uuid);
    const cases: [Partial<EventSelection>, (index: number) => boolean][] = [
      [{}, () => true],
      [{ id: [40017] }, (index) => index % 3 === 0],
      [{ group: ['operation-write'] }, (index) => index % 3 === 0],
      [{ uuid: [events[7]?.uuid ?? ''] }, (index) => index === 7],
      [{ account: ['smith, john'] }, (index) => index % 2 === 0],
      [{ account: ['smith', ' john', 'u1'] }, (index) => index % 2 === 1],
      [{ userGroup: ['g3'] }, (index) => index % 4 === 3],
      [{ path: ['/in/2/a,b'] }, (index) => index % 5 === 2],
      [{ path: ['/in/2/', '/in/3/'] }, (index) => index % 5 === 2 || index % 5 === 3],
      [{ path: ['/in/2', '/i/', '/in/2/a'] }, () => false],
      [{ path: ['/'] }, () => true],
      [{ address: ['192.0.2.4'] }, (index) => index === 4],
      [{ requestId: ['r9', 'r1'] }, (index) => index === 9 || index === 1],
      [{ text: 'text 1 (.*) "quoted" ü' }, (index) => index === 1],
      [{ text: 'text.*' }, () => false],
      [{ text: 'request_id' }, () => false],
      [{ since: 1_700_000_010_000, until: 1_700_000_012_000 }, (index) => index === 10 || index === 11],
      [{ id: [40039], account: ['ü'], path: ['/in/0/a,b'] }, (index) => index === 5 || index === 25],
    ];
    for (const [selection, wanted] of cases) assert.deepEqual(await found(selection), uuids(wanted), JSON.stringify(selection));
    const paged: string[] = [];
    for (let before: LogPosition | undefined; ; ) {
      const page = await search({ account: ['ü'] }, before, 4);
      assert.ok(page.events.length <= 4 && page.isComplete);
      paged.push(...page.events.map(({ event }) => event.uuid));
      before = page.next;
      if (!before) break;
    }
    assert.deepEqual(
      paged,
      uuids((index) => index % 2 === 1),
    );
    const positions = [
      { segment: 0, offset: 0 },
      { segment: 0, offset: 999_999_999_999_999 },
    ];
    for (const before of positions) assert.deepEqual((await search({}, before)).events, [], 'no event is before the first');
    assert.equal((await search({}, { segment: 999_999_999_999_999, offset: 5 })).events.length, 30);
    const [, second, third] = (await search({})).events;
    assert.deepEqual((await search({}, second?.position, 1)).events[0]?.raw, third?.raw);
    await log.close();
  });

  contract('a wait for more events ends with the next event, with its abort signal, or when the journal is closed', async (log) => {
    const { end } = log;
    const waiting = log.waitForMore(end);
    const first = await Promise.race([waiting.then(() => 'woken'), new Promise((resolve) => setImmediate(() => resolve('waits')))]);
    assert.equal(first, 'waits');
    log.append(testEvent());
    await waiting;
    assert.equal((await readAll(log, end)).length, 1);
    await log.waitForMore(end);
    const aborted = log.waitForMore(log.end, AbortSignal.abort(new Error('enough')));
    await assert.rejects(aborted, /enough/);
    const later = new AbortController();
    const abortedLater = log.waitForMore(log.end, later.signal);
    later.abort(new Error('enough now'));
    await assert.rejects(abortedLater, /enough now/);
    const ended = log.waitForMore(log.end);
    await log.close();
    await ended;
  });

  contract('a hundred concurrent durable appends are all stored, in the order of the calls', async (log) => {
    log.assertWritable();
    await Promise.all(Array.from({ length: 100 }, (_, index) => log.appendDurable(testEvent(String(index)))));
    assert.deepEqual(
      (await readAll(log)).map(({ event }) => Number(event.data.text)),
      Array.from({ length: 100 }, (_, index) => index),
    );
    await log.close();
  });

  contract('an append to a closed journal is refused, not lost silently', async (log) => {
    log.append(testEvent());
    await log.close();
    assert.equal(log.append(testEvent()), undefined);
    await assert.rejects(log.appendDurable(testEvent()));
  });

  contract('every reader gets the marks of an event: its group, and the handler for whose answer a request waits', async (log) => {
    const marks = [
      { group: 'A', takenBy: undefined },
      { group: 'A', takenBy: 'backend' },
      { group: 'B', takenBy: undefined },
      { group: undefined, takenBy: undefined },
      { group: 'A "ü"\n', takenBy: 'x y' },
    ];
    const account = { ...testEvent().account, uuid: 'alice' };
    const live = log.openReader(() => assert.fail('bad line'));
    for (const [index, mark] of marks.entries()) {
      log.append(testEvent(`of the process ${index}`), { group: undefined, takenBy: undefined });
      const event = { ...testEvent(String(index)), account };
      if (index % 2 === 0) log.append(event, mark);
      else await log.appendDurable(event, mark);
    }
    const first = await live.next((await readAll(log))[0]?.position);
    live.close();
    for (const read of [await readAll(log), first.events.length === 10 ? first.events : await readAll(log)]) {
      assert.deepEqual(
        read.filter(({ event }) => event.account.uuid === 'alice').map(({ group, takenBy }) => ({ group, takenBy })),
        marks,
      );
      assert.ok(read.every(({ event, group }) => event.account.uuid === 'alice' || group === undefined));
    }
    await log.close();
  });
}
