import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { comparePositions, type LogPosition } from '../../src/events/journal/position.ts';
import { type LiveBatch, LiveEvents } from '../../src/events/journal/search/live-events.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { RedisLink } from '../../src/lib/redis/redis-link.ts';
import { eventLogContract, readAll, testEvent } from '../contracts/event-log.ts';
import { until } from '../support/receiver.ts';
import { journalTexts, linkTo, openJournal, row, startRedis, type TestRedis } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';

async function begin(t: TestContext): Promise<{ redis: TestRedis; link: RedisLink; folder: string } | undefined> {
  if (!hasProgram(t, 'redis-server')) return undefined;
  const redis = await startRedis(t);
  return { redis, link: await linkTo(t, redis.url), folder: temporaryFolder(t) };
}

eventLogContract('journal in Redis', async (t) => {
  const begun = await begin(t);
  return begun && openJournal(begun.link, begun.folder);
});

test('nodes share one journal, the events of each node keep their order, and each event names its writer', async (t) => {
  const begun = await begin(t);
  if (!begun) return;
  const here = await openJournal(begun.link, join(begun.folder, 'a'), 'a');
  const there = await openJournal(await linkTo(t, begun.redis.url), join(begun.folder, 'b'), 'b');
  const waiting = there.waitForMore(there.end);
  await Promise.all(row(0, 50).map((text) => here.appendDurable(testEvent(`a${text}`))));
  await waiting;
  await Promise.all(row(0, 50).map((text) => there.appendDurable(testEvent(`b${text}`))));
  for (const log of [here, there]) {
    const read = await readAll(log);
    assert.equal(read.length, 100);
    for (const node of ['a', 'b'])
      assert.deepEqual(
        read.filter((logged) => logged.node === node).map(({ event }) => event.data.text),
        row(0, 50).map((text) => node + text),
      );
  }
  const third = (await readAll(here))[2];
  assert.ok(third);
  assert.equal((await here.backlog(third.position)).events, 98);
  assert.deepEqual(await here.backlog(there.end), { events: 0, oldestMs: undefined });
  await here.close();
  await there.close();
});

test('while Redis is absent, events wait on disk, are acknowledged, and get into the stream once and in order', async (t) => {
  const begun = await begin(t);
  if (!begun) return;
  const { redis, link, folder } = begun;
  const log = await openJournal(link, folder);
  await Promise.all(row(0, 10).map((text) => log.appendDurable(testEvent(text))));
  await new Promise((resolve) => setTimeout(resolve, 1100));
  await redis.kill();
  for (const text of row(10, 20)) assert.equal(await log.appendDurable(testEvent(text)), undefined);
  assert.ok((await log.spooled()).events >= 10);
  await redis.restart();
  await until('all events are forwarded', async () => link.isReady && (await log.spooled()).events === 0);
  for (const text of row(20, 25)) await log.appendDurable(testEvent(text));
  assert.deepEqual(await journalTexts(log), row(0, 25));
  await log.close();
});

test('a node that ends while Redis is absent forwards its events after its next start; later starts repeat none', async (t) => {
  const begun = await begin(t);
  if (!begun) return;
  const { redis, link, folder } = begun;
  const first = await openJournal(link, folder);
  for (const text of row(0, 5)) await first.appendDurable(testEvent(text));
  await new Promise((resolve) => setTimeout(resolve, 1100));
  await redis.kill();
  for (const text of row(5, 8)) await first.appendDurable(testEvent(text));
  await first.close();
  await redis.restart();
  await until('Redis is connected again', () => link.isReady);
  for (let round = 0; round < 3; round++) {
    const next = await openJournal(link, folder);
    await until('all events are forwarded', async () => (await next.spooled()).events === 0);
    assert.deepEqual(await journalTexts(next), row(0, 8));
    await next.close();
  }
});

test('events that Redis lost are forwarded again: those of the last second before a crash, or all if it was emptied', async (t) => {
  const begun = await begin(t);
  if (!begun) return;
  const { redis, link, folder } = begun;
  const log = await openJournal(link, folder);
  for (const text of row(0, 10)) await log.appendDurable(testEvent(text));
  const entries = await readAll(log);
  await redis.command(
    `XDEL {svc}:journal ${entries
      .slice(7)
      .map(({ position }) => `${position.segment}-${position.offset}`)
      .join(' ')}`,
  );
  await redis.kill();
  await redis.restart();
  await until('the lost events are back', async () => link.isReady && (await journalTexts(log)).length === 10);
  assert.deepEqual(await journalTexts(log), row(0, 10));
  await redis.command('FLUSHALL');
  await until('all events are back', async () => link.isReady && (await journalTexts(log)).length === 10);
  for (const text of row(10, 12)) await log.appendDurable(testEvent(text));
  assert.deepEqual(await journalTexts(log), row(0, 12));
  await log.close();
});

test('if Redis is emptied under load, all events get into the new stream in their original order', async (t) => {
  const begun = await begin(t);
  if (!begun) return;
  const { redis, link, folder } = begun;
  const log = await openJournal(link, folder);
  let count = 0;
  for (let round = 0; round < 3; round++) {
    const endMs = performance.now() + 1500;
    const emptied = new Promise((resolve) => setTimeout(resolve, 700)).then(() => redis.command('FLUSHALL'));
    while (performance.now() < endMs) {
      log.append(testEvent(String(count++)));
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    await emptied;
    await until(
      'all events are forwarded',
      async () => link.isReady && (await log.spooled()).events === 0 && (await journalTexts(log)).length >= count,
    );
    assert.deepEqual(await journalTexts(log), row(0, count));
  }
  await log.close();
});

test('while Redis is paused, appends are acknowledged from the disk; afterwards no event is there twice', async (t) => {
  const begun = await begin(t);
  if (!begun) return;
  const { redis, link, folder } = begun;
  const log = await openJournal(link, folder);
  for (const text of row(0, 3)) await log.appendDurable(testEvent(text));
  redis.pause();
  await Promise.all(row(3, 6).map((text) => log.appendDurable(testEvent(text))));
  redis.resume();
  await until('all events are forwarded', async () => link.isReady && (await log.spooled()).events === 0);
  assert.deepEqual(await journalTexts(log), row(0, 6));
  await log.close();
});

test('a Redis with a slow clock takes over: the next events have positions after all that were read', async (t) => {
  const begun = await begin(t);
  if (!begun) return;
  const { redis, link, folder } = begun;
  const log = await openJournal(link, folder);
  await log.appendDurable(testEvent('0'));
  const laterMs = Date.now() + 3_600_000;
  assert.match(await redis.command(`XSETID {svc}:journal ${laterMs}-0`), /OK/);
  await log.appendDurable(testEvent('1'));
  const reader = log.openReader(() => assert.fail('bad line'));
  const { next } = await reader.next(undefined);
  assert.ok(next.segment >= laterMs);
  await redis.command('FLUSHALL');
  await until('the node notices the loss', () => !link.isReady);
  await until('both events are back', async () => link.isReady && (await log.spooled()).events === 0);
  await log.appendDurable(testEvent('2'));
  const { events } = await reader.next(next);
  assert.deepEqual(
    events.map(({ event }) => event.data.text),
    row(0, 3),
  );
  reader.close();
  await log.close();
});

test('events of another node from before the subscription are not live events', async (t) => {
  const begun = await begin(t);
  if (!begun) return;
  const here = await openJournal(begun.link, join(begun.folder, 'a'), 'a');
  const there = await openJournal(await linkTo(t, begun.redis.url), join(begun.folder, 'b'), 'b');
  const early = (await there.appendDurable(testEvent('early'))) as LogPosition;
  assert.ok(comparePositions(await here.findEnd(), early) > 0);
  const live = new LiveEvents(here, systemClock);
  const batches = live.follow({ id: [], uuid: [] }, undefined, new AbortController().signal);
  const first = batches.next();
  await until('the follower has started', () => live.followers === 1);
  await there.appendDurable(testEvent('late'));
  const { events } = (await first).value as LiveBatch;
  assert.deepEqual(
    events.map(({ raw }) => JSON.parse(raw.toString('utf8')).data.text),
    ['late'],
  );
  await batches.return(undefined);
  await here.close();
  await there.close();
});

test('`untilShared` waits while Redis is absent, and fails if the journal is closed before all nodes can read its events', async (t) => {
  const begun = await begin(t);
  if (!begun) return;
  const { redis, link, folder } = begun;
  const log = await openJournal(link, folder);
  await log.appendDurable(testEvent('0'));
  await log.untilShared();
  await redis.kill();
  await until('Redis is away', () => !link.isReady);
  await log.appendDurable(testEvent('1'));
  let isShared = false;
  const shared = log.untilShared().then(() => (isShared = true));
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(isShared, false);
  await redis.restart();
  await shared;
  assert.deepEqual(await journalTexts(log), ['0', '1']);
  await redis.kill();
  await until('Redis is away again', () => !link.isReady);
  await log.appendDurable(testEvent('2'));
  const never = assert.rejects(log.untilShared(), { code: 'unavailable' });
  await log.close();
  await never;
});
