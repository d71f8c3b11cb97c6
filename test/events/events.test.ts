import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventCatalogue, eventDefinition, eventGroups } from '../../src/events/catalogue.ts';
import { JournalledDispatcher } from '../../src/events/dispatcher.ts';
import type { ServiceEvent } from '../../src/events/event.ts';
import { SharedMembers } from '../../src/events/event.ts';
import { eventJson, formatMessage, processAccount } from '../../src/events/event-factory.ts';
import type { EventLog, EventMarks } from '../../src/events/journal/event-log.ts';
import { allTimestamps, jsonTimestamps } from '../../src/events/timestamps.ts';
import { ManualClock } from '../support/manual-clock.ts';

const allIds = [
  30011, 30012, 30013, 30014, 30015, 30016, 30017, 30019, 30020, 30021, 30023, 30024, 30026, 30027, 30029, 30030, 30032, 30033, 30035,
  30036, 30038, 30039, 30041, 30042, 30043, 30044, 30051, 30067, 30068, 20001, 20002, 20181, 20005, 20011, 20012, 20021, 20031, 20149,
  20042, 20067, 20066, 20076, 20077, 20078, 20085, 20086, 20111, 20136, 20126, 20137, 20142, 20156, 20157, 20174, 20189, 20190, 20191,
  40000, 40003, 40004, 40039, 40040, 40035, 40005, 40036, 40007, 40014, 40010, 40011, 40030, 40012, 40013, 40026, 40027, 40015, 40037,
  40016, 40025, 40041, 40018, 40019, 40017, 40021, 40022, 40042, 40043, 40055, 40056, 40065, 40060, 40061, 40062, 40063, 40066, 40067,
  40068, 40028, 40069, 40071, 40072, 40073, 40074, 40075, 40101, 40102, 20192, 20193, 20194, 20201, 20202, 40081, 40082, 40083, 40084,
  40085, 40086, 40087, 40091, 40092, 40093, 40094, 40095, 40096,
];

test('the message of a held upload has the reason of the inspection, or words for the code', () => {
  const told = (reason: string, ...verdicts: object[]) => formatMessage(40072, { path: '/a', reason, verdicts });
  const before = 'The upload of "/a" is held: ';
  const accepted = { inspection: 'x', verdict: 'accept', message: 'Fine.' };
  assert.equal(told('verdict', accepted, { verdict: 'hold', message: 'Above 10,000 EUR.' }), `${before}Above 10,000 EUR.`);
  assert.equal(told('verdict', { verdict: 'hold' }), `${before}an inspection requires a review`);
  assert.equal(told('failure', { verdict: 'failure', message: 'timeout' }), `${before}an inspection failed: timeout`);
  assert.equal(told('late'), `${before}the inspection is not finished yet`);
  assert.equal(formatMessage(40072, { path: '/a', reason: 'larger' }), `${before}the file is too large for an inspection`);
});

test('the catalogue has each of the known events once, with existing groups', () => {
  assert.deepEqual(eventCatalogue.map((definition) => definition.id).sort(), allIds.toSorted());
  for (const { id, meaning, groups } of eventCatalogue) {
    assert.ok(meaning.length > 5 && groups.length > 0, String(id));
    for (const group of groups) assert.ok(eventGroups.includes(group));
  }
  assert.throws(() => eventDefinition(1));
  assert.equal(formatMessage(40017, { path: '/a' }), 'The file "/a" was uploaded.');
});

test('an instant is given in all forms of timestamps', () => {
  const zone = process.env.TZ;
  process.env.TZ = 'Europe/Berlin';
  // `jsonTimestamps` remembers the last second. An earlier test may have asked for the same second in another time zone.
  jsonTimestamps(0);
  try {
    assert.deepEqual(jsonTimestamps(1_591_402_889_123.5), { timestamp: '1591402889.123500', cwa_14051: '2020-06-06 02:21:29' });
    const forms = allTimestamps('1591402889.123500');
    assert.deepEqual(
      [forms.iso_8601, forms.iso_8601_fractional, forms.iso_8601_local, forms.iso_8601_basic, forms.iso_8601_compact],
      ['2020-06-06T00:21:29Z', '2020-06-06T00:21:29.123500000Z', '2020-06-06T02:21:29+02:00', '20200606T002129Z', '20200606T002129'],
    );
    const { year_decimal, year_no_century, month_decimal, month_padded, day_padded, day_decimal, day_of_year_padded } = forms;
    assert.deepEqual(
      [year_decimal, year_no_century, month_decimal, month_padded, day_padded, day_decimal, day_of_year_padded],
      ['2020', '20', '6', '06', '06', '6', '158'],
    );
    const { hour_padded_24, hour_decimal_24, hour_padded_12, hour_decimal_12, hour_am_pm, minute_padded, second_decimal } = forms;
    assert.deepEqual(
      [hour_padded_24, hour_decimal_24, hour_padded_12, hour_decimal_12, hour_am_pm, minute_padded, second_decimal],
      ['02', '2', '02', '2', 'AM', '21', '29'],
    );
    assert.equal(allTimestamps('1577836799.000000').day_of_year_padded, '001', 'the new year begins in local time');
    assert.equal(allTimestamps('1577880000.000000').hour_padded_12, '01');
  } finally {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  }
});

class MemoryLog implements EventLog {
  async backlog() {
    return { events: 0, oldestMs: undefined };
  }
  async sizeBytes() {
    return 0;
  }
  readonly events: ServiceEvent[] = [];
  readonly marks: (EventMarks | undefined)[] = [];
  readonly end = { segment: 1, offset: 0 };
  append(event: ServiceEvent, marks?: EventMarks) {
    this.events.push(event);
    this.marks.push(marks);
    return this.end;
  }
  readonly texts: string[] = [];
  appendGrouped(event: ServiceEvent, marks?: EventMarks, dataJson?: string) {
    this.append(event, marks);
    this.texts.push(eventJson(event, dataJson));
  }
  grouped() {
    return undefined;
  }
  async untilShared() {}

  async appendDurable(event: ServiceEvent, marks?: EventMarks) {
    return this.append(event, marks);
  }
  assertWritable() {}
  openReader(): never {
    throw new Error('not used');
  }
  findEnd(): never {
    throw new Error('not used');
  }
  openRawReader(): never {
    throw new Error('not used');
  }
  since() {
    return undefined;
  }
  newestBlocks(): never {
    throw new Error('not used');
  }
  async waitForMore() {}
  flushNow(): void {}

  async close() {}
}

test('the dispatcher appends each event with its group to the journal; emitAndWait then waits for the named handler', async () => {
  const log = new MemoryLog();
  const dispatcher = new JournalledDispatcher(log, { uuid: 's', type: 'server', name: 's' }, new ManualClock());
  const context = { account: processAccount(), component: { uuid: 'c', type: 'http', name: 'c' }, group: 'g' };
  dispatcher.emit({ id: 40007, context, data: { path: '/', gone: undefined } });
  await dispatcher.emitDurable({ id: 40010, context });
  assert.deepEqual((await dispatcher.emitAndWait({ id: 40017, context }, 'nobody')).delivery, { outcome: 'unavailable' });
  const unregister = dispatcher.registerBlockingHandler('h', {
    deliver: async (event, { group }, position) => ({
      outcome: 'delivered',
      status: 200,
      headers: [['x', `${event.id} ${group} ${position?.segment} ${log.events.length}`]],
    }),
    abandon: () => {},
  });
  assert.deepEqual((await dispatcher.emitAndWait({ id: 40017, context }, 'h')).delivery.headers, [['x', '40017 g 1 4']]);
  unregister();
  assert.deepEqual((await dispatcher.emitAndWait({ id: 40017, context }, 'h')).delivery, { outcome: 'unavailable' });
  assert.deepEqual(
    log.events.map(({ id }, index) => [id, log.marks[index]?.group, log.marks[index]?.takenBy]),
    [
      ['40007', 'g', undefined],
      ['40010', 'g', undefined],
      ['40017', 'g', undefined],
      ['40017', 'g', 'h'],
      ['40017', 'g', undefined],
    ],
  );
  assert.deepEqual(log.events[0]?.data, { path: '/' });
  assert.equal(JSON.stringify(log.events[0]).includes('"group"'), false, 'the event has no member for the group');
});

test('events with shared data are serialised exactly as JSON.stringify does', () => {
  const log = new MemoryLog();
  const dispatcher = new JournalledDispatcher(log, { uuid: 's', type: 'server', name: 's' }, new ManualClock());
  const context = { account: processAccount(), component: { uuid: 'c', type: 'http', name: 'c' } };
  const shared = new SharedMembers({ path: '/ü "a"\n', real_path: '/srv/ü "a"\n' });
  const request = { id: 'r', traceparent: '00-1-2-01' };
  dispatcher.emitGrouped({ id: 40004, context, shared });
  dispatcher.emitGrouped({ id: 40004, context: { ...context, request }, shared });
  dispatcher.emitGrouped({ id: 40039, context: { ...context, request: { id: 'r' } }, shared, data: { duration: 0.5, gone: undefined } });
  assert.deepEqual(
    log.texts,
    log.events.map((event) => JSON.stringify(event)),
  );
  assert.deepEqual(
    log.events.map(({ data }) => data),
    [
      shared.members,
      { ...shared.members, request_id: 'r', traceparent: '00-1-2-01' },
      { ...shared.members, duration: 0.5, request_id: 'r' },
    ],
  );
});
