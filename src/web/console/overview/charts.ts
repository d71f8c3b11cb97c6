import type { Sample } from '../../../console/api/schemas/overview.ts';
import { make } from '../../shared/dom.ts';
import { sizeText } from '../../shared/locale.ts';
import { text } from '../language.ts';
import { numberText } from '../shown.ts';
import { Chart, type ChartModel } from './chart.ts';

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
