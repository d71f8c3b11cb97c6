import { AggregatorRegistry, type MetricObject, type PrometheusContentType, type Registry } from 'prom-client';

/** All figures of one process, as a message can carry them. */
export type MetricFigures = Omit<MetricObject, 'collect'>[];

/** What a node shows beside its own figures: those of the others that were started with it on the same addresses. */
export interface NodeFigures {
  /** How many nodes answer requests. */
  running: number;
  /** How many took the place of one that had ended. */
  restarts: number;
  /** Of each of the others, and what stays of those that are gone. */
  others: MetricFigures[];
}

/** Joins the figures of several processes: each metric says by its `aggregator` how. */
export function joinedFigures(processes: readonly MetricFigures[]): Registry<PrometheusContentType> {
  // Those that tell of a process itself have its label: each stands for itself.
  const isOfProcess = (name: string) => /^(process|nodejs)_/.test(name);
  return AggregatorRegistry.aggregate(
    processes.map((figures) => figures.map((metric) => (isOfProcess(metric.name) ? { ...metric, aggregator: 'first' } : metric))),
  );
}

/** What stays of the figures of processes that are gone: what was counted. */
export async function countedFigures(processes: readonly MetricFigures[]): Promise<MetricFigures> {
  const isCounted = ({ name, type }: MetricFigures[number]) => name.startsWith('svc_') && /^(counter|histogram)$/.test(String(type));
  return joinedFigures(processes.map((figures) => figures.filter(isCounted))).getMetricsAsJSON();
}
