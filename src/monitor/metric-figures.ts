import { type MetricObject, type MetricObjectWithValues, type MetricValue, Registry } from 'prom-client';

/** A value; histograms name their parts. */
type Value = MetricValue<string> & { metricName?: string };

/** The figures of one process, as a message can carry them. */
export type MetricFigures = (MetricObject & { values: Value[] })[];

/** All figures of a registry. */
export async function figuresOf(registry: Registry): Promise<MetricFigures> {
  return (await registry.getMetricsAsJSON()) as MetricObjectWithValues<Value>[];
}

/** Adds up the figures of several processes: values with the same labels become one, others stand beside each other. */
export function sumFigures(processes: readonly MetricFigures[]): MetricFigures {
  const metrics = new Map<string, { metric: MetricObject; values: Map<string, Value> }>();
  for (const figures of processes) {
    for (const { values, ...metric } of figures) {
      const sum = metrics.get(metric.name) ?? { metric, values: new Map<string, Value>() };
      metrics.set(metric.name, sum);
      for (const { value, labels, metricName } of values) {
        const key = JSON.stringify([metricName, Object.entries(labels).sort()]);
        const before = sum.values.get(key)?.value ?? 0;
        sum.values.set(key, { value: before + value, labels, ...(metricName === undefined ? {} : { metricName }) });
      }
    }
  }
  return [...metrics.values()].map(({ metric, values }) => ({ ...metric, values: [...values.values()] }));
}

/** What stays of the figures of a process that is gone: what was counted, without its label. */
export function countedFigures(figures: MetricFigures): MetricFigures {
  return figures.filter(({ type, name }) => isCounted(String(type)) && !/^(process|nodejs)_/.test(name));
}

// prom-client's types have numbers where the library has words.
function isCounted(type: string): boolean {
  return type === 'counter' || type === 'histogram';
}

/** Figures in the Prometheus text format. */
export function figuresText(figures: MetricFigures): Promise<string> {
  const registry = new Registry();
  for (const metric of figures) registry.registerMetric({ ...metric, get: () => metric } as never);
  return registry.metrics();
}
