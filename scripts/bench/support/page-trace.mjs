// Reads Chromium's traces of a page: when the page became usable, and how long a task blocked its main thread.

/** Duration in milliseconds above which a task delays the page, because the page misses three frames. */
export const longTaskMs = 50;

/** If there is no long task for this time in milliseconds, the page counts as idle. */
const restMs = 1000;

const categories = ['devtools.timeline', 'disabled-by-default-devtools.timeline', 'blink.user_timing', 'loading'];

/** A trace of a page. Times are in milliseconds of the browser's clock. */
class Trace {
  #events;
  #thread;

  constructor(events) {
    this.#events = events;
    this.#thread = busiestPage(events);
  }

  /**
   * Returns when an event last occurred in the opened document, or undefined. Events of pictures, which are other documents, do not count.
   */
  at(name) {
    const opened = this.#events.find((event) => event.name === 'navigationStart' && event.args.data.documentLoaderURL !== '');
    const found = this.#events.filter(({ name: other, args }) => other === name && args.frame === opened.args.frame).at(-1);
    return found && (name === 'navigationStart' ? opened : found).ts / 1000;
  }

  /** Returns when the page's script last set a mark (User Timing), or undefined. */
  markedAt(mark) {
    const found = this.#events.filter(({ name, cat }) => name === mark && cat.includes('blink.user_timing')).at(-1);
    return found && found.ts / 1000;
  }

  /** Returns the tasks of the page's main thread, in order. */
  tasks() {
    const { pid, tid } = this.#thread;
    return this.#events
      .filter((event) => event.name === 'RunTask' && event.ph === 'X' && event.pid === pid && event.tid === tid)
      .map(({ ts, dur }) => ({ startMs: ts / 1000, endMs: (ts + dur) / 1000, durationMs: dur / 1000 }))
      .sort((a, b) => a.startMs - b.startMs);
  }

  /** Returns the duration of the longest task. */
  longestMs(tasks = this.tasks()) {
    return Math.max(0, ...tasks.map(({ durationMs }) => durationMs));
  }

  /**
   * Returns the time from which the page is usable: the end of the last long task after `fromMs` and before the page is idle. Without such
   * a task, it is `fromMs`.
   */
  restsFrom(fromMs) {
    let restsMs = fromMs;
    for (const { startMs, endMs, durationMs } of this.tasks()) {
      if (durationMs <= longTaskMs || endMs <= fromMs) continue;
      if (startMs - restsMs > restMs) break;
      restsMs = endMs;
    }
    return restsMs;
  }
}

/** Returns the main thread of the page, which is the busiest thread of all renderers. */
function busiestPage(events) {
  const busyUs = ({ pid, tid }) =>
    events.reduce((sum, event) => sum + (event.name === 'RunTask' && event.pid === pid && event.tid === tid ? event.dur : 0), 0);
  const threads = events.filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain');
  return threads.map((thread) => ({ ...thread, busyUs: busyUs(thread) })).sort((a, b) => b.busyUs - a.busyUs)[0];
}

/** Traces a page of Playwright while an action runs. */
export async function traced(page, action) {
  const browser = page.context().browser();
  await browser.startTracing(page, { categories });
  await action();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString('utf8'));
  return new Trace(traceEvents);
}
