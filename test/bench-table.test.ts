import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

interface Round {
  value?: number;
  note?: string;
  cpuUs?: number;
  fault?: string;
}

const script = join(process.env.SVC_ROOT ?? process.cwd(), 'scripts/bench/support/table.mjs');
const { cell, ratio } = (await import(pathToFileURL(script).href)) as {
  cell(runs?: readonly Round[]): string;
  ratio(mine: readonly Round[], theirs: readonly Round[], member?: keyof Round): number | undefined;
};

const values = (...each: number[]): Round[] => each.map((value) => ({ value }));

test('servers are compared by the rounds that both have', () => {
  assert.equal(ratio(values(20, 40, 90), values(10, 10, 10)), 4);
  assert.equal(ratio(values(20, 40, 90), values(10)), 2, 'the other server has only one round');
  assert.equal(ratio([{ fault: 'reset' }, ...values(30)], values(10, 10)), 3, 'a failed round of the first server is left out');
  assert.equal(ratio(values(20, 30), [{ fault: 'reset' }, { value: 10 }]), 3, 'a failed round of the second server is left out');
  assert.equal(ratio(values(20), []), undefined);
  assert.equal(ratio(values(20), values(10), 'cpuUs'), undefined, 'the value was not measured');
});

test('the table shows a dash for an absent server, and the number of failures for a server that failed', () => {
  assert.equal(cell(), '–');
  assert.equal(cell([{ fault: 'reset' }, { value: 2 }]), '2.0 · 1 of 2 failed');
  assert.equal(cell([{ fault: 'reset' }]), '1 of 1 failed');
  const whole = [900, 1200, 5000].map((value) => ({ value, cpuUs: 81.4, note: '3 MB' }));
  assert.equal(cell(whole), '1,200 · 81 µs · 3 MB');
});
