import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failedInRow, parseStopReason, pausedBy, stopReasons } from '../../src/webhooks/engine/stop-reasons.ts';

test('the code and the value of each reason are found in its text; other texts have no code', () => {
  assert.deepEqual([failedInRow(1), failedInRow(2)], ['1 delivery failed in a row', '2 deliveries failed in a row']);
  assert.deepEqual(parseStopReason(failedInRow(1)), { code: 'failures', value: '1' });
  assert.deepEqual(parseStopReason(failedInRow(12)), { code: 'failures', value: '12' });
  assert.deepEqual(
    parseStopReason('1 deliveries failed in a row'),
    { code: 'failures', value: '1' },
    'a reason in the wording of earlier versions is recognised',
  );
  assert.deepEqual(parseStopReason(pausedBy('3 deliveries failed in a row')), { code: 'paused', value: '3 deliveries failed in a row' });
  assert.deepEqual(parseStopReason(stopReasons.fault), { code: 'fault', value: '' });
  assert.deepEqual(parseStopReason(stopReasons['no-node']), { code: 'no-node', value: '' });
  for (const other of ['', 'Redis is unavailable', '3 deliveries failed in a row, and more'])
    assert.equal(parseStopReason(other), undefined);
});
