// Reads Chromium's traces of a page: when it was usable, and how long its main thread was busy without a break.

/** A task that takes longer holds up the page: it misses three frames. In milliseconds. */
export const longTaskMs = 50;

/** The page is at rest after this time without a long task, in milliseconds. */
const restMs = 1000;

const categories = ['devtools.timeline', 'disabled-by-default-devtools.timeline', 'blink.user_timing', 'loading'];

/** A trace of a page; times are milliseconds of the browser's clock. */
class Trace {
  #events;
  #thread;

  constructor(events) {
    this.#events = events;
    this.#thread = busiestPage(events);
  }

  /** When something last happened in the document that was opened; undefined when it did not. Pictures are documents, too. */
  at(name) {
    const opened = this.#events.find((event) => event.name === 'navigationStart' && event.args.data.documentLoaderURL !== '');
    const found = this.#events.filter(({ name: other, args }) => other === name && args.frame === opened.args.frame).at(-1);
    return found && (name === 'navigationStart' ? opened : found).ts / 1000;
  }

  /** When the page's script last set a mark; undefined when it did not. */
  markedAt(mark) {
    const found = this.#events.filter(({ name, cat }) => name === mark && cat.includes('blink.user_timing')).at(-1);
    return found && found.ts / 1000;
  }

  /** Tasks of the page's main thread, in order. */
  tasks() {
    const { pid, tid } = this.#thread;
    return this.#events
      .filter((event) => event.name === 'RunTask' && event.ph === 'X' && event.pid === pid && event.tid === tid)
      .map(({ ts, dur }) => ({ startMs: ts / 1000, endMs: (ts + dur) / 1000, durationMs: dur / 1000 }))
      .sort((a, b) => a.startMs - b.startMs);
  }

  /** The longest task. */
  longestMs(tasks = this.tasks()) {
    return Math.max(0, ...tasks.map(({ durationMs }) => durationMs));
  }

  /** The end of the last long task after `fromMs` before the page is at rest, or else `fromMs`: from then on it can be used. */
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

/** The main thread of the page: of all renderers' the busiest. */
function busiestPage(events) {
  const busyUs = ({ pid, tid }) =>
    events.reduce((sum, event) => sum + (event.name === 'RunTask' && event.pid === pid && event.tid === tid ? event.dur : 0), 0);
  const threads = events.filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain');
  return threads.map((thread) => ({ ...thread, busyUs: busyUs(thread) })).sort((a, b) => b.busyUs - a.busyUs)[0];
}

/** Traces a page of Playwright while something happens in it. */
export async function traced(page, action) {
  const browser = page.context().browser();
  await browser.startTracing(page, { categories });
  await action();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString('utf8'));
  return new Trace(traceEvents);
}
