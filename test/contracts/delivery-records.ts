import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { DeliveryRecord, DeliveryRecords, RecordKind } from '../../src/webhooks/records/delivery-record.ts';
import { type DeliveryFilter, findDelivery, type NamedDelivery, newestDeliveries } from '../../src/webhooks/records/newest-deliveries.ts';

/** Records to which more can be added. */
export interface WritableRecords {
  records: DeliveryRecords;
  /** Adds records, the oldest first. */
  add(kind: RecordKind, added: readonly DeliveryRecord[]): Promise<void>;
}

const beginMs = Date.UTC(2026, 2, 16, 10);
const handlers = ['crm', 'chat', 'a "quoted",\nname'];

/** Returns delivery number `index`, made one second after the previous one. */
function delivery(index: number, more: Partial<DeliveryRecord> = {}): DeliveryRecord {
  return {
    time: new Date(beginMs + index * 1000).toISOString(),
    handler: handlers[index % 3] as string,
    outcome: (['delivered', 'failed', 'delivered', 'discarded'] as const)[index % 4] as DeliveryRecord['outcome'],
    events: [
      { id: index % 5 === 0 ? '40021' : '40017', uuid: `e-${index}` },
      ...(index % 7 === 0 ? [{ id: '40018', uuid: `f-${index}` }] : []),
    ],
    attempts: [],
    method: 'POST',
    ...more,
  };
}

const numbers = (length: number) => Array.from({ length }, (_, index) => index);

/** Returns all pages, each with at most `limit` deliveries. */
async function pages(
  records: DeliveryRecords,
  filter: DeliveryFilter,
  limit: number,
  between = async () => {},
): Promise<NamedDelivery[][]> {
  const all: NamedDelivery[][] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await newestDeliveries(records, filter, { limit, cursor });
    assert.ok(page && page.deliveries.length <= limit);
    all.push(page.deliveries);
    if (page.next === undefined) return all;
    cursor = page.next;
    await between();
  }
}

/**
 * The contract of `DeliveryRecords` for readers of the newest deliveries.
 *
 * @param openOrSkip opens empty records; returns undefined if they are not available here
 */
export function deliveryRecordsContract(name: string, openOrSkip: (t: TestContext) => Promise<WritableRecords | undefined>): void {
  const contract = (what: string, body: (writable: WritableRecords) => Promise<void>) =>
    test(`${name}: ${what}`, async (t) => {
      const writable = await openOrSkip(t);
      if (writable) await body(writable);
    });

  contract(
    'pages contain deliveries and replays, newest first; no record is left out or repeated while more are added',
    async ({ records, add }) => {
      assert.deepEqual(await newestDeliveries(records, {}, { limit: 5 }), { deliveries: [], next: undefined });
      const all = numbers(50).map((index) => ({ kind: index % 3 === 0 ? 'replays' : 'deliveries', record: delivery(index) }) as const);
      for (const kind of ['deliveries', 'replays'] as const)
        await add(
          kind,
          all.filter((one) => one.kind === kind).map(({ record }) => record),
        );
      const expected = all.toReversed();
      for (const limit of [1, 7, 50, 500]) {
        const found = (await pages(records, {}, limit)).flat();
        assert.deepEqual(
          found.map(({ kind, record }) => ({ kind, record })),
          expected,
          `${limit}`,
        );
        assert.equal(new Set(found.map(({ id }) => id)).size, found.length);
      }
      let next = 50;
      const late = await pages(records, {}, 7, () => add('deliveries', [delivery(next++)]));
      assert.deepEqual(
        late.flat().map(({ record }) => record),
        expected.map(({ record }) => record),
        'later deliveries are not on the following pages',
      );
      const again = await newestDeliveries(records, {}, { limit: 1 });
      assert.equal(again?.deliveries[0]?.record.time, delivery(next - 1).time);
    },
  );

  contract('filters work alone and together', async ({ records, add }) => {
    const made = numbers(60).map((index) => delivery(index));
    await add('deliveries', made);
    await add('replays', [delivery(100)]);
    const deliveries: DeliveryFilter = { kinds: ['deliveries'] };
    const sinceMs = beginMs + 20_000;
    const untilMs = beginMs + 40_000;
    const timeOf = ({ time }: DeliveryRecord) => Date.parse(time);
    for (const [filter, isWanted] of [
      [{}, () => true],
      [{ handlers: ['chat'] }, ({ handler }) => handler === 'chat'],
      [{ handlers: [handlers[2] as string] }, ({ handler }) => handler === handlers[2]],
      [{ handlers: ['crm', 'chat'] }, ({ handler }) => handler !== handlers[2]],
      [{ handlers: ['nobody'] }, () => false],
      [{ outcomes: ['failed'] }, ({ outcome }) => outcome === 'failed'],
      [{ outcomes: ['failed', 'discarded'] }, ({ outcome }) => outcome !== 'delivered'],
      [{ eventId: '40018' }, ({ events }) => events.some(({ id }) => id === '40018')],
      [{ eventUuid: 'f-21' }, ({ events }) => events.some(({ uuid }) => uuid === 'f-21')],
      [{ sinceMs }, (record) => timeOf(record) >= sinceMs],
      [{ untilMs }, (record) => timeOf(record) < untilMs],
      [
        { sinceMs, untilMs, handlers: ['crm'], outcomes: ['delivered'] },
        (record) => timeOf(record) >= sinceMs && timeOf(record) < untilMs && record.handler === 'crm' && record.outcome === 'delivered',
      ],
    ] as [DeliveryFilter, (record: DeliveryRecord) => boolean][]) {
      const found = (await pages(records, { ...deliveries, ...filter }, 4)).flat().map(({ record }) => record);
      assert.deepEqual(found, made.filter(isWanted).toReversed(), JSON.stringify(filter));
    }
    assert.deepEqual(
      (await pages(records, { kinds: ['replays'] }, 4)).flat().map(({ record }) => record),
      [delivery(100)],
    );
  });

  contract('a delivery is found by its ID only; a cursor must come from a page', async ({ records, add }) => {
    await add('deliveries', [delivery(0), delivery(1)]);
    await add('replays', [delivery(2)]);
    for (const named of (await pages(records, {}, 10)).flat()) {
      assert.deepEqual(await findDelivery(records, named.id), named);
      const [letter, place] = [named.id[0], named.id.slice(1)];
      assert.equal(await findDelivery(records, `${letter === 'd' ? 'r' : 'd'}${place}7`), undefined);
      assert.equal(await findDelivery(records, `${letter}${place}1`), undefined);
    }
    for (const id of ['', 'x', 'd1', 'd-1', 'e1-1', 'd1-1x', 'd999999999999999-999999999999999'])
      assert.equal(await findDelivery(records, id), undefined, id);
    for (const cursor of ['', 'x', 'd1-1.x', '0:0']) assert.equal(await newestDeliveries(records, {}, { limit: 1, cursor }), undefined);
  });

  contract('a page ends after enough records were read; the next one continues there', async ({ records, add }) => {
    const large = { body: { text: 'x'.repeat(1024 * 1024) } };
    const made = numbers(18).map((index) => delivery(index, { handler: index === 0 ? 'chat' : 'crm', ...large }));
    await add('deliveries', made);
    const found = await pages(records, { handlers: ['crm', 'chat'], eventUuid: 'e-0' }, 5);
    assert.ok(found.length > 1, 'a page without results refers to the next page');
    assert.deepEqual(
      found.flat().map(({ record }) => record.events[0]?.uuid),
      ['e-0'],
    );
  });
}
