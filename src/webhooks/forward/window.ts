import type { Clock } from '../../lib/clock.ts';
import { wallClock } from '../../lib/time-zones.ts';

/** The part of the day in which files are sent, as minutes since midnight in a time zone. */
export interface SendingWindow {
  fromMinute: number;
  toMinute: number;
  timeZone: string;
}

const minuteMs = 60_000;
const dayMinutes = 1440;

/**
 * Parses a window such as `22:00-05:00`. If the end is not after the start, it is on the next day. @returns undefined for any other text
 */
export function parseWindow(text: string, timeZone: string): SendingWindow | undefined {
  const [, ...parts] = /^([01]\d|2[0-3]):([0-5]\d)\s*-\s*([01]\d|2[0-4]):([0-5]\d)$/.exec(text.trim()) ?? [];
  if (parts.length === 0) return undefined;
  const [fromHour = 0, fromPast = 0, toHour = 0, toPast = 0] = parts.map(Number);
  const [fromMinute, toMinute] = [fromHour * 60 + fromPast, toHour * 60 + toPast];
  return toMinute > dayMinutes || fromMinute === toMinute % dayMinutes ? undefined : { fromMinute, toMinute, timeZone };
}

/** Returns the milliseconds until the window opens, provided that daylight saving time does not begin or end before; 0 while it is open. */
export function msUntilOpen({ fromMinute, toMinute, timeZone }: SendingWindow, nowMs: number): number {
  const wallMs = wallClock(nowMs, timeZone) % (dayMinutes * minuteMs);
  const [fromMs, toMs] = [fromMinute * minuteMs, toMinute * minuteMs];
  const isOpen = fromMs < toMs ? wallMs >= fromMs && wallMs < toMs : wallMs >= fromMs || wallMs < toMs;
  return isOpen ? 0 : (fromMs - wallMs + dayMinutes * minuteMs) % (dayMinutes * minuteMs);
}

/**
 * Resolves when the window is open. Checks this every minute, because daylight saving time may begin or end meanwhile. @throws the signal's
 * reason
 */
export async function untilOpen(window: SendingWindow, clock: Clock, signal: AbortSignal | undefined): Promise<void> {
  for (;;) {
    const waitMs = msUntilOpen(window, clock.nowMs());
    if (waitMs === 0) return;
    await clock.sleep(Math.min(waitMs, minuteMs), signal);
  }
}
