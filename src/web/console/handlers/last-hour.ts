import type { HandlerView } from '../../../console/api/schemas/overview.ts';
import { makeSvg } from '../../shared/dom.ts';
import { durationText } from '../../shared/locale.ts';
import { text } from '../language.ts';
import { badge, stateBadge } from '../section.ts';
import { numberText } from '../shown.ts';

/** Sizes in the drawing. Each bar stands for five minutes. */
const [barWidth, gap, height] = [7, 2, 22];

function countHour({ last_hour }: HandlerView): { delivered: number; failed: number } {
  const sum = (name: 'delivered' | 'failed') => last_hour.reduce((total, part) => total + part[name], 0);
  return { delivered: sum('delivered'), failed: sum('failed') };
}

/** Sorts handlers. Those that need the attention of an administrator come first. */
export function byUrgency(handlers: readonly HandlerView[]): HandlerView[] {
  const rank = ({ state, is_failing }: HandlerView) => (state === 'stopped' ? 0 : is_failing ? 1 : 2);
  return handlers.toSorted((one, other) => rank(one) - rank(other));
}

/** Shows the state of a handler. If a handler runs but its deliveries fail, the number of failures is shown instead. */
export function handlerBadge(handler: HandlerView): HTMLElement {
  if (handler.state !== 'running' || !handler.is_failing) return stateBadge(handler.state);
  const { delivered, failed } = countHour(handler);
  return badge(text('handlerFails', { failed: numberText(failed), total: numberText(delivered + failed) }), 'bad');
}

/** Draws the deliveries of the last hour as bars, with failed ones at the top; undefined if there are none. */
export function hourBars(handler: HandlerView): SVGSVGElement | undefined {
  const { last_hour } = handler;
  const { delivered, failed } = countHour(handler);
  if (delivered + failed === 0) return undefined;
  const highest = Math.max(...last_hour.map((part) => part.delivered + part.failed));
  const width = last_hour.length * (barWidth + gap) - gap;
  const label = text('hourOf', { delivered: numberText(delivered), failed: numberText(failed) });
  const svg = makeSvg('svg', { class: 'hour-bars', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label });
  const title = makeSvg('title', {});
  title.textContent = label;
  svg.append(title);
  for (const [index, part] of last_hour.entries()) {
    const x = index * (barWidth + gap);
    // A single failure must be visible even among thousands of deliveries.
    const scaled = (count: number) => (count === 0 ? 0 : Math.max((count / highest) * height, 1.5));
    const [bad, good] = [scaled(part.failed), Math.min(scaled(part.delivered), height - scaled(part.failed))];
    const bar = (kind: string, y: number, tall: number) =>
      tall > 0 &&
      svg.append(makeSvg('rect', { class: kind, x: String(x), y: y.toFixed(1), width: String(barWidth), height: tall.toFixed(1) }));
    bar('first', height - good, good);
    bar('bad', height - good - bad, bad);
  }
  return svg;
}

/** Returns how many events wait for a handler. While they are being counted, there may be more. */
export function waitingText({ waiting_events: count, more_may_wait: more }: HandlerView): string {
  return more ? (count > 0 ? `${numberText(count)}+` : '…') : numberText(count);
}

export function ageText(seconds: number): string {
  return seconds <= 0 ? '–' : durationText(seconds);
}

export function rateText(perMinute: number): string {
  return text('perMinute', { value: numberText(perMinute, 1) });
}
