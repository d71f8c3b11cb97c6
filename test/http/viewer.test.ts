import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clockText } from '../../src/web/files/player/clock.ts';
import { bounded, type Frame, moveBy, swipeDirection, whole, zoomBy } from '../../src/web/files/viewer/zoom.ts';

const frame: Frame = { width: 1000, height: 600, pictureWidth: 800, pictureHeight: 600, most: 8 };

test('a picture is enlarged around the given point, up to a limit, and never becomes smaller than the whole', () => {
  const point = { x: 100, y: -50 };
  const near = zoomBy(whole, 2, point, frame);
  assert.equal(near.scale, 2);
  // The same spot of the picture is under the point as before.
  assert.deepEqual([(point.x - near.x) / near.scale, (point.y - near.y) / near.scale], [100, -50]);
  assert.equal(zoomBy(near, 1000, point, frame).scale, 8);
  assert.deepEqual(zoomBy(near, 0.001, point, frame), whole);
});

test('an enlarged picture moves as far as its edges; one smaller than the stage stays in the middle', () => {
  const near = zoomBy(whole, 2, { x: 0, y: 0 }, frame);
  assert.deepEqual(moveBy(near, { x: 5000, y: 5000 }, frame), { scale: 2, x: 300, y: 300 });
  assert.deepEqual(moveBy(near, { x: -5000, y: 10 }, frame), { scale: 2, x: -300, y: 10 });
  assert.deepEqual(moveBy(whole, { x: 50, y: 50 }, frame), whole);
  assert.deepEqual(
    bounded(near, { ...frame, width: 3000, height: 3000 }),
    { scale: 2, x: 0, y: 0 },
    'in a larger window, the picture is in the middle',
  );
});

test('a swipe must be long enough and horizontal', () => {
  const paths = [
    [-80, 10],
    [80, -10],
    [20, 0],
    [-80, 70],
    [0, 200],
  ] as const;
  assert.deepEqual(
    paths.map(([x, y]) => swipeDirection({ x, y })),
    [1, -1, 0, 0, 0],
  );
});

test('times are shown as media players show them', () => {
  assert.deepEqual([0, 9.9, 65, 3600, 36_065, Number.NaN, Number.POSITIVE_INFINITY, -1].map(clockText), [
    '0:00',
    '0:09',
    '1:05',
    '1:00:00',
    '10:01:05',
    '0:00',
    '0:00',
    '0:00',
  ]);
});
