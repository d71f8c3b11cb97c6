import type { Sample } from '../../../console/api/schemas/overview.ts';
import { make, makeSvg } from '../../shared/dom.ts';
import { sizeText } from '../../shared/locale.ts';
import { text } from '../language.ts';
import { numberText, timeElement } from '../shown.ts';

interface Series {
  title: string;
  value: (sample: Sample) => number;
  kind: 'first' | 'second' | 'bad';
}

interface ChartModel {
  title: string;
  series: readonly [Series, ...Series[]];
  format: (value: number) => string;
}

const [width, height] = [360, 72];

/** Builds a small line chart of the last hour. The newest values are at the right. */
function makeChart({ title, series, format }: ChartModel) {
  const figures = series.map(() => make('strong'));
  const [top, time] = [make('span'), make('span')];
  const svg = makeSvg('svg', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img' });
  const cursor = makeSvg('path', { class: 'cursor' });
  const legend = series.map((one, index) =>
    make('span', { className: `series ${one.kind}` }, series.length > 1 && `${one.title} `, figures[index]),
  );
  const plot = make('div.plot', svg);
  const element = make('figure.chart', make('h2', title), make('div.legend', ...legend), plot, make('figcaption.hint', time, top));
  let samples: readonly Sample[] = [];
  let pointed: number | undefined;

  const showFigures = () => {
    const sample = pointed === undefined ? samples.at(-1) : samples[pointed];
    for (const [index, figure] of figures.entries()) {
      const { value } = series[index] as Series;
      figure.textContent = sample ? format(value(sample)) : '–';
    }
    time.replaceChildren(pointed === undefined ? text('lastHour') : timeElement(sample?.time));
  };

  const pointAt = (column: number) => {
    const index = column - (maxSamples - samples.length);
    pointed = samples[index] ? index : undefined;
    cursor.setAttribute('d', pointed === undefined ? '' : `M${(column * width) / (maxSamples - 1)} 0V${height}`);
    showFigures();
  };
  plot.addEventListener('pointermove', ({ offsetX }) => pointAt(Math.round((offsetX / plot.clientWidth) * (maxSamples - 1))));
  plot.addEventListener('pointerleave', () => pointAt(-1));

  /** Draws the samples, of which the last one is the newest. */
  const show = (shown: readonly Sample[]) => {
    samples = shown;
    const highest = Math.max(...samples.flatMap((sample) => series.map(({ value }) => value(sample))), 0);
    const scale = highest > 0 ? (height - 6) / highest : 0;
    const left = width * (1 - (samples.length - 1) / (maxSamples - 1));
    const step = width / (maxSamples - 1);
    const paths = series.map(({ value }) => {
      const points = samples.map(
        (sample, index) => `${(left + index * step).toFixed(1)} ${(height - 1 - value(sample) * scale).toFixed(1)}`,
      );
      return points.length > 0 ? `M${points.join('L')}` : '';
    });
    const [first] = paths;
    svg.replaceChildren(
      ...(first ? [makeSvg('path', { class: 'area first', d: `${first}V${height}H${left.toFixed(1)}z` })] : []),
      ...series.map(({ kind }, index) => makeSvg('path', { class: `line ${kind}`, d: paths[index] as string })),
      cursor,
    );
    top.textContent = highest > 0 ? text('highest', { value: format(highest) }) : '';
    const latest = samples.at(-1);
    const now = latest === undefined ? '–' : series.map((one) => `${one.title} ${format(one.value(latest))}`).join(', ');
    svg.ariaLabel = text('chartOf', { title, now, highest: format(highest) });
    showFigures();
  };
  return { element, show };
}

/** Number of samples in an hour, which is the width of a chart. */
const maxSamples = 360;

/** Builds the charts of the last hour, which grow with each sample. */
export function makeCharts(intervalSeconds: number, first: readonly Sample[]) {
  const charts = models(intervalSeconds).map(makeChart);
  let samples = first.slice(-maxSamples);
  const show = () => {
    for (const chart of charts) chart.show(samples);
  };
  show();
  const add = (sample: Sample) => {
    // The first request may already have returned this sample. Times are compared only for equality, because a clock may be set back.
    if (samples.some(({ time }) => time === sample.time)) return;
    samples = [...samples, sample].slice(-maxSamples);
    show();
  };
  return { element: make('div.charts', ...charts.map(({ element }) => element)), add };
}

function models(intervalSeconds: number): ChartModel[] {
  const per = (unit: 'perSecond' | 'perMinute') => (value: number) => text(unit, { value: numberText(value, value < 10 ? 1 : 0) });
  const bytesPerSecond = (value: number) => text('perSecond', { value: sizeText(value) });
  const rate = (name: 'requests' | 'failures' | 'received_bytes' | 'sent_bytes') => (sample: Sample) => sample[name] / intervalSeconds;
  const minutes = (name: 'deliveries' | 'failed_deliveries') => (sample: Sample) => (sample[name] * 60) / intervalSeconds;
  const count = (value: number) => numberText(value);
  return [
    {
      title: text('requests'),
      format: per('perSecond'),
      series: [
        { title: text('answered'), value: rate('requests'), kind: 'first' },
        { title: text('failures'), value: rate('failures'), kind: 'bad' },
      ],
    },
    {
      title: text('traffic'),
      format: bytesPerSecond,
      series: [
        { title: text('sent'), value: rate('sent_bytes'), kind: 'first' },
        { title: text('received'), value: rate('received_bytes'), kind: 'second' },
      ],
    },
    {
      title: text('deliveries'),
      format: per('perMinute'),
      series: [
        { title: text('answered'), value: minutes('deliveries'), kind: 'first' },
        { title: text('failures'), value: minutes('failed_deliveries'), kind: 'bad' },
      ],
    },
    { title: text('waitingEvents'), format: count, series: [{ title: '', value: ({ waiting_events }) => waiting_events, kind: 'first' }] },
    {
      title: text('clients'),
      format: count,
      series: [
        { title: text('sessions_title'), value: ({ sessions }) => sessions, kind: 'first' },
        { title: text('connections'), value: ({ connections }) => connections, kind: 'second' },
      ],
    },
    { title: text('memory'), format: sizeText, series: [{ title: '', value: ({ memory_bytes }) => memory_bytes, kind: 'first' }] },
  ];
}
