import type { Sample } from '../../../console/api/schemas/overview.ts';
import { make } from '../../shared/dom.ts';
import { sizeText } from '../../shared/locale.ts';
import { text } from '../language.ts';
import { numberText, timeOf } from '../shown.ts';

/** One line of a chart. */
interface Series {
  title: string;
  value: (sample: Sample) => number;
  /** Colour of the line, by its class. */
  kind: 'first' | 'second' | 'bad';
}

/** What a chart shows. */
interface ChartModel {
  title: string;
  series: readonly [Series, ...Series[]];
  /** Writes a value. */
  format: (value: number) => string;
}

const [width, height] = [360, 72];
const svgNamespace = 'http://www.w3.org/2000/svg';

/** A small chart of the last hour: lines of figures, the newest at the right. */
class Chart {
  readonly element: HTMLElement;
  readonly #model: ChartModel;
  readonly #most: number;
  readonly #figures: HTMLElement[];
  readonly #top = make('span');
  readonly #time = make('span');
  readonly #svg = svgElement('svg', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img' });
  readonly #cursor = svgElement('path', { class: 'cursor' });
  #samples: readonly Sample[] = [];
  #pointed: number | undefined;

  /** @param most samples from one edge to the other */
  constructor(model: ChartModel, most: number) {
    this.#model = model;
    this.#most = most;
    this.#figures = model.series.map(() => make('strong'));
    const legend = model.series.map(({ title, kind }, index) =>
      make('span', { className: `series ${kind}` }, model.series.length > 1 && `${title} `, this.#figures[index]),
    );
    const plot = make('div', { className: 'plot' }, this.#svg);
    this.element = make(
      'figure',
      { className: 'chart' },
      make('h2', {}, model.title),
      make('div', { className: 'legend' }, ...legend),
      plot,
      make('figcaption', { className: 'hint' }, this.#time, this.#top),
    );
    plot.addEventListener('pointermove', ({ offsetX }) => this.#point(Math.round((offsetX / plot.clientWidth) * (most - 1))));
    plot.addEventListener('pointerleave', () => this.#point(undefined));
  }

  /** Shows the samples, of which the last is the newest. */
  show(samples: readonly Sample[]): void {
    this.#samples = samples;
    const { series, format, title } = this.#model;
    const highest = Math.max(...samples.flatMap((sample) => series.map(({ value }) => value(sample))), 0);
    const scale = highest > 0 ? (height - 6) / highest : 0;
    const left = width * (1 - (samples.length - 1) / (this.#most - 1));
    const step = width / (this.#most - 1);
    const lines = series.map(({ value, kind }) => {
      const points = samples.map(
        (sample, index) => `${(left + index * step).toFixed(1)} ${(height - 1 - value(sample) * scale).toFixed(1)}`,
      );
      return { kind, path: points.length > 0 ? `M${points.join('L')}` : '' };
    });
    const [first] = lines;
    const area = first?.path && svgElement('path', { class: 'area first', d: `${first.path}V${height}H${left.toFixed(1)}z` });
    this.#svg.replaceChildren(
      ...(area ? [area] : []),
      ...lines.map(({ kind, path }) => svgElement('path', { class: `line ${kind}`, d: path })),
      this.#cursor,
    );
    this.#top.textContent = highest > 0 ? text('highest', { value: format(highest) }) : '';
    const latest = samples.at(-1);
    const now = latest === undefined ? '–' : series.map((one) => `${one.title} ${format(one.value(latest))}`).join(', ');
    this.#svg.setAttribute('aria-label', text('chartOf', { title, now, highest: format(highest) }));
    this.#tell();
  }

  #point(column: number | undefined): void {
    const index = column === undefined ? undefined : column - (this.#most - this.#samples.length);
    this.#pointed = index !== undefined && this.#samples[index] ? index : undefined;
    this.#cursor.setAttribute('d', this.#pointed === undefined ? '' : `M${((column ?? 0) * width) / (this.#most - 1)} 0V${height}`);
    this.#tell();
  }

  #tell(): void {
    const sample = this.#pointed === undefined ? this.#samples.at(-1) : this.#samples[this.#pointed];
    for (const [index, { value }] of this.#model.series.entries()) {
      const figure = this.#figures[index];
      if (figure) figure.textContent = sample ? this.#model.format(value(sample)) : '–';
    }
    this.#time.replaceChildren(this.#pointed === undefined ? text('lastHour') : timeOf(sample?.time));
  }
}

function svgElement<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Record<string, string>): SVGElementTagNameMap[K] {
  const element = document.createElementNS(svgNamespace, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** Samples of an hour. */
const maxSamples = 360;

/** The charts of the last hour, which grow with each sample. */
export class Charts {
  readonly element: HTMLElement;
  readonly #charts: readonly Chart[];
  #samples: Sample[];

  constructor(intervalSeconds: number, samples: readonly Sample[]) {
    this.#samples = samples.slice(-maxSamples);
    this.#charts = models(intervalSeconds).map((model) => new Chart(model, maxSamples));
    this.element = make('div', { className: 'charts' }, ...this.#charts.map(({ element }) => element));
    this.#show();
  }

  add(sample: Sample): void {
    // Those that came while the page asked for all; times go back when a clock is set.
    if (this.#samples.some(({ time }) => time === sample.time)) return;
    this.#samples = [...this.#samples, sample].slice(-maxSamples);
    this.#show();
  }

  #show(): void {
    for (const chart of this.#charts) chart.show(this.#samples);
  }
}

function models(intervalSeconds: number): ChartModel[] {
  const perSecond = (value: number) => text('perSecond', { value: numberText(value, value < 10 ? 1 : 0) });
  const bytesPerSecond = (value: number) => text('perSecond', { value: sizeText(value) });
  const rate = (name: 'requests' | 'failures' | 'received_bytes' | 'sent_bytes') => (sample: Sample) => sample[name] / intervalSeconds;
  const perMinute = (value: number) => text('perMinute', { value: numberText(value, value < 10 ? 1 : 0) });
  const minutes = (name: 'deliveries' | 'failed_deliveries') => (sample: Sample) => (sample[name] * 60) / intervalSeconds;
  const count = (value: number) => numberText(value);
  return [
    {
      title: text('requests'),
      format: perSecond,
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
      format: perMinute,
      series: [
        { title: text('all'), value: minutes('deliveries'), kind: 'first' },
        { title: text('outcome_failed'), value: minutes('failed_deliveries'), kind: 'bad' },
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
