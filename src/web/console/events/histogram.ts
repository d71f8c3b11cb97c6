import type { EventHistogram } from '../../../console/api/schemas/events.ts';
import { make, makeSvg } from '../../shared/dom.ts';
import { text } from '../language.ts';
import { ask, withQuery } from '../request.ts';
import { badge } from '../section.ts';
import { numberText, timeElement } from '../shown.ts';

const [width, height] = [600, 48];
const parts = 60;

/**
 * Shows the number of events over time as bars. The reader selects a range by dragging over them.
 *
 * @param choose called with the begin and end of the selected range, in ISO 8601
 */
export function histogram(choose: (since: string, until: string) => void) {
  const svg = makeSvg('svg', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img' });
  const chosen = makeSvg('rect', { class: 'chosen', y: '0', height: String(height), width: '0' });
  const plot = make('div.plot', svg);
  const [begin, told, end] = [make('span'), make('span.told'), make('span')];
  const element = make('figure.histogram', { hidden: true }, plot, make('figcaption.hint', begin, told, end));
  let shown: EventHistogram | undefined;
  let from: number | undefined;

  const partAt = (event: PointerEvent) => {
    const { left, width: wide } = plot.getBoundingClientRect();
    return Math.min(Math.max(Math.floor(((event.clientX - left) / wide) * parts), 0), parts - 1);
  };
  const timeOf = ({ since, bucket_seconds }: EventHistogram, part: number) =>
    new Date(Date.parse(since) + part * bucket_seconds * 1000).toISOString();
  const mark = (first: number, last: number) => {
    chosen.setAttribute('x', String((first * width) / parts));
    chosen.setAttribute('width', String(((last - first + 1) * width) / parts));
    if (!shown) return;
    const counts = shown.counts.slice(first, last + 1);
    const sum = (name: 'events' | 'failures') => counts.reduce((total, part) => total + part[name], 0);
    tell(timeOf(shown, first), timeOf(shown, last + 1), sum('events'), sum('failures'));
  };
  const tell = (since: string, until: string, events: number, failures: number) => {
    begin.replaceChildren(timeElement(since));
    end.replaceChildren(timeElement(until));
    told.textContent = text('eventsInRange', { events: numberText(events), failures: numberText(failures) });
    const counted = shown?.counted_since ?? since;
    if (Date.parse(counted) > Date.parse(since))
      told.prepend(badge(text('partial'), 'warn'), ' ', text('countedSince'), ' ', timeElement(counted), ': ');
  };
  const tellAll = () => {
    if (!shown) return;
    const sum = (name: 'events' | 'failures') => shown?.counts.reduce((total, part) => total + part[name], 0) ?? 0;
    tell(shown.since, shown.until, sum('events'), sum('failures'));
  };
  plot.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    from = partAt(event);
    plot.setPointerCapture(event.pointerId);
    mark(from, from);
  });
  plot.addEventListener('pointermove', (event) => {
    const at = partAt(event);
    mark(Math.min(from ?? at, at), Math.max(from ?? at, at));
  });
  plot.addEventListener('pointerleave', () => {
    if (from !== undefined) return;
    chosen.setAttribute('width', '0');
    tellAll();
  });
  plot.addEventListener('pointercancel', () => {
    from = undefined;
  });
  plot.addEventListener('pointerup', (event) => {
    if (from === undefined || !shown) return;
    const at = partAt(event);
    const [first, last] = [Math.min(from, at), Math.max(from, at)];
    from = undefined;
    choose(timeOf(shown, first), timeOf(shown, last + 1));
  });

  /** Counts the events of a search and draws the bars. */
  const load = async (query: URLSearchParams, signal: AbortSignal) => {
    const found = await ask<EventHistogram>('GET', withQuery('/api/events/histogram', query), { signal });
    shown = found;
    const highest = Math.max(...found.counts.map(({ events }) => events), 1);
    const step = width / parts;
    const scaled = (count: number) => (count === 0 ? 0 : Math.max((count / highest) * (height - 2), 2));
    const bars = found.counts.flatMap(({ events, failures }, index) => {
      const [all, bad] = [scaled(events), scaled(failures)];
      const bar = (kind: string, tall: number) =>
        makeSvg('rect', {
          class: kind,
          x: (index * step).toFixed(1),
          width: (step - 1).toFixed(1),
          y: (height - tall).toFixed(1),
          height: tall.toFixed(1),
        });
      return [...(all > 0 ? [bar('first', all)] : []), ...(bad > 0 ? [bar('bad', bad)] : [])];
    });
    const uncounted = (Date.parse(found.counted_since) - Date.parse(found.since)) / found.bucket_seconds / 1000;
    const rest = makeSvg('rect', { class: 'uncounted', y: '0', height: String(height), width: String(Math.round(uncounted) * step) });
    svg.replaceChildren(...bars, rest, chosen);
    tellAll();
    svg.ariaLabel = `${text('histogram')}: ${told.textContent}`;
    element.hidden = false;
  };
  return { element, load };
}
