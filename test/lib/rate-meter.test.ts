import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { RateMeter } from '../../src/lib/rate-meter.ts';
import { ManualClock } from '../support/manual-clock.ts';

test('all events of the last 55 seconds are counted, and none that is older than 60 seconds', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10_000 }), fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 60 }), (start, pauses) => {
      const clock = new ManualClock();
      clock.advance(start);
      const meter = new RateMeter(clock);
      const happened: number[] = [];
      for (const pauseMs of pauses) {
        clock.advance(pauseMs);
        meter.count();
        happened.push(clock.monotonicMs());
        const within = (ms: number) => happened.filter((atMs) => clock.monotonicMs() - atMs < ms).length;
        assert.ok(meter.perMinute >= within(55_000) && meter.perMinute <= within(60_001), `${meter.perMinute}`);
      }
    }),
  );
});

test('after a minute or an hour without events the rate is zero', () => {
  for (const pauseMs of [60_000, 65_000, 3_600_000]) {
    const clock = new ManualClock();
    const meter = new RateMeter(clock);
    assert.equal(meter.perMinute, 0);
    for (let index = 0; index < 1000; index++) meter.count();
    assert.equal(meter.perMinute, 1000);
    clock.advance(pauseMs);
    assert.equal(meter.perMinute, 0);
    meter.count();
    assert.equal(meter.perMinute, 1);
  }
});
