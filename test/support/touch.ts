import type { CDPSession } from 'playwright-core';

/** Fingers that go from their first points to their last in steps. */
export async function touch(session: CDPSession, paths: { from: [number, number]; to: [number, number] }[]): Promise<void> {
  const at = (part: number) =>
    paths.map(({ from, to }, id) => ({ id, x: from[0] + (to[0] - from[0]) * part, y: from[1] + (to[1] - from[1]) * part }));
  await session.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: at(0) });
  for (const part of [0.25, 0.5, 0.75, 1]) await session.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: at(part) });
  await session.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
}
