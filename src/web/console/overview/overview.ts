import type {
  HandlerView,
  MethodView,
  NodeView,
  Overview,
  Sample,
  SampleList,
  ServiceView,
  TransferView,
} from '../../../console/api/schemas/overview.ts';
import { make, makeSvg } from '../../shared/dom.ts';
import { formatTag, sizeText } from '../../shared/locale.ts';
import { countedEvents, eventMessage, type Incident, incidents, incidentTimes, namedEvent } from '../event-kinds.ts';
import { ageText, byUrgency, handlerBadge, hourBars, rateText, waitingText } from '../handlers/last-hour.ts';
import { text, translate } from '../language.ts';
import { listen } from '../live.ts';
import { ask } from '../request.ts';
import { hashFor } from '../route.ts';
import {
  badge,
  facts,
  heading,
  incompleteLine,
  liveMark,
  panel,
  type Stage,
  scrollToShown,
  showFrame,
  showLive,
  shownAs,
  stateBadge,
} from '../section.ts';
import { ageElement, ageInPhrase, clear, datum, messageDatum, numberText, timeElement } from '../shown.ts';
import { type Column, makeTable, renew } from '../table.ts';

/** Shows the state of the installation and keeps it up to date. */
export async function showOverview({ main, route, signal }: Stage): Promise<void> {
  const [overview, { interval_seconds, samples }] = await Promise.all([
    ask<Overview>('GET', '/api/overview', { signal }),
    ask<SampleList>('GET', '/api/samples', { signal }),
  ]);
  const charts = makeCharts(interval_seconds, samples);
  const server = make('div.server');
  const tables = makeTables();
  const missing = incompleteLine();
  const problems = problemStrip();
  main.replaceChildren(
    heading(text('overview'), liveMark()),
    problems.element,
    missing.element,
    charts.element,
    server,
    ...tables.elements,
  );
  const show = (current: Overview) => {
    showFrame(current);
    missing.show(current.incomplete);
    problems.show(current);
    renew(server, [serverFacts(current)]);
    main.classList.toggle('one-node', current.nodes.length < 2);
    tables.show(current);
  };
  await findFaultWords(overview);
  show(overview);
  scrollToShown(main, route);
  listen('/api/live', signal, {
    messages: {
      overview: (current: Overview) => void findFaultWords(current).then(() => show(current)),
      sample: (sample: Sample) => charts.add(sample),
    },
    onState: showLive,
  });
}

// These texts are rarely needed, so they are not part of the first load.
let faultWords: typeof import('../handler-names.ts') | undefined;

/** Loads the words for reasons. If that fails, the service's English words are shown. */
async function findFaultWords({ methods, inspections }: Overview): Promise<void> {
  if (faultWords || ![...methods, ...inspections].some(({ fault }) => fault)) return;
  faultWords = await import('../handler-names.ts').catch(() => undefined);
}

function serverFacts({ server, journal, nodes }: Overview): HTMLElement {
  const free = journal.free_bytes ?? undefined;
  const size = journal.bytes === null ? '–' : sizeText(journal.bytes);
  return facts(
    [text('server'), datum(server.name)],
    [text('version'), server.version],
    [text('running_since'), ageInPhrase(server.started)],
    [text('journal'), free === undefined ? size : text('journalAndFree', { size, free: sizeText(free) })],
    [text('nodes'), nodes.length > 1 && numberText(nodes.length)],
  );
}

function makeTables() {
  const ofNode = ({ uuid, node }: ServiceView | MethodView) => `${uuid} ${node}`;
  const services = makeTable<ServiceView>(text('services'), text('noServices'), serviceColumns, ofNode);
  const methods = makeTable<MethodView>(text('methods'), text('noMethods'), methodColumns, ofNode);
  const inspections = makeTable<MethodView>(text('inspections'), '', methodColumns, ofNode);
  const handlers = makeTable<HandlerView>(text('handlers'), text('noHandlers'), handlerColumns, ({ uuid }) => uuid);
  const transfers = makeTable<TransferView>(text('transfers'), text('noTransfers'), transferColumns, ({ node, id }) => `${node} ${id}`);
  const errors = makeTable<Incident>(text('lastErrors'), text('noErrors'), errorColumns, ({ kind, uuid }) => kind || uuid);
  errors.element.classList.add('errors');
  const errorsPanel = panel(text('lastErrors'), errors.element);
  const servicesPanel = panel(text('services'), services.element);
  const nodes = makeTable<NodeView>(text('nodes'), '', nodeColumns, ({ uuid }) => uuid);
  const moreTransfers = make('p.hint', { hidden: true });
  const nodesPanel = shownAs('nodes', panel(text('nodes'), nodes.element));
  const inspectionsPanel = shownAs('inspections', panel(text('inspections'), inspections.element));
  const elements = [
    servicesPanel,
    panel(text('handlers'), handlers.element),
    panel(text('transfers'), transfers.element, moreTransfers),
    inspectionsPanel,
    shownAs('methods', panel(text('methods'), methods.element)),
    nodesPanel,
    errorsPanel,
  ];
  const show = (overview: Overview) => {
    services.show(overview.services);
    methods.show(overview.methods);
    inspections.show(overview.inspections);
    inspectionsPanel.hidden = overview.inspections.length === 0;
    handlers.show(byUrgency(overview.handlers));
    transfers.show(overview.transfers);
    moreTransfers.hidden = overview.transfers_left_out === 0;
    moreTransfers.textContent = text('moreTransfers', { count: numberText(overview.transfers_left_out) });
    errors.show(incidents(overview.errors));
    // A moved panel loses the focus, so it moves only once.
    if (errors.size > 0 && errorsPanel.nextSibling !== servicesPanel) servicesPanel.before(errorsPanel);
    nodes.show(overview.nodes);
    nodesPanel.hidden = overview.nodes.length < 2;
  };
  return { elements, show };
}

const serviceColumns: Column<ServiceView>[] = [
  { title: text('name'), cell: ({ name, uuid }) => datum(name || uuid) },
  { title: text('type'), cell: ({ type }) => type },
  { title: text('address'), cell: ({ url }) => datum(url, 'code'), className: 'whole' },
  { title: text('node'), cell: ({ node }) => datum(node), className: 'of-node' },
  { title: text('connections'), cell: ({ connections }) => numberText(connections), className: 'number' },
  { title: text('sessions_title'), cell: ({ sessions }) => numberText(sessions), className: 'number' },
];

const methodColumns: Column<MethodView>[] = [
  { title: text('name'), cell: ({ name, uuid }) => datum(name || uuid) },
  { title: text('type'), cell: ({ type }) => type },
  { title: text('state'), cell: ({ state }) => stateBadge(state) },
  { title: text('reason'), cell: ({ fault, reason }) => datum(faultWords?.faultText(fault, reason) ?? reason), className: 'whole' },
  { title: text('node'), cell: ({ node }) => datum(node), className: 'of-node' },
];

const handlerColumns: Column<HandlerView>[] = [
  { title: text('name'), cell: ({ name, uuid }) => make('a', { href: hashFor('handlers', '', { show: uuid }) }, datum(name || uuid)) },
  { title: text('state'), cell: handlerBadge },
  { title: text('lastHour'), cell: (handler) => hourBars(handler) ?? '–', className: 'hour' },
  { title: text('waitingEvents'), cell: waitingText, className: 'number' },
  { title: text('oldest'), cell: ({ oldest_waiting_seconds }) => ageText(oldest_waiting_seconds), className: 'number' },
  { title: text('rate'), cell: ({ rate_per_minute }) => rateText(rate_per_minute), className: 'number' },
];

const transferColumns: Column<TransferView>[] = [
  { title: text('path'), cell: ({ path }) => datum(path) },
  { title: text('account'), cell: ({ account }) => datum(account) },
  { title: text('direction'), cell: ({ direction }) => translate('direction', direction) },
  { title: text('progress'), cell: progressView },
  { title: text('speed'), cell: (item) => text('perSecond', { value: sizeText(item.bytes_per_second) }), className: 'number' },
  { title: text('node'), cell: ({ node }) => datum(node), className: 'of-node' },
];

function progressView({ bytes, total_bytes, path }: TransferView): HTMLElement {
  if (!total_bytes) return make('span', sizeText(bytes));
  return make(
    'span.progress',
    make('progress', { max: total_bytes, value: bytes, ariaLabel: clear(path) }),
    text('running', { done: sizeText(bytes), total: sizeText(total_bytes) }),
  );
}

// Only failures are listed here. So if a login of an administrator is listed, it was refused.
const errorColumns: Column<Incident>[] = [
  { title: text('time'), cell: incidentTimes, className: 'narrow' },
  { title: text('event'), cell: ({ id }) => namedEvent(id, { outcome: 'refused' }), className: 'kind' },
  { title: text('count'), cell: errorCount, className: 'number' },
  {
    title: text('message'),
    cell: ({ uuid, time, due, failures: [last], ...error }) =>
      make(
        'span',
        make('a.row-link', { href: hashFor('events', uuid, { at: time }) }, messageDatum(eventMessage(error), due)),
        last && make('span.hint.led', messageDatum(eventMessage(last))),
      ),
    className: 'whole',
  },
  { title: text('node'), cell: ({ node }) => datum(node), className: 'of-node' },
];

function errorCount(incident: Incident): HTMLElement | string {
  const { count, query } = countedEvents(incident);
  return count <= 1 && incident.failures.length === 0 ? '1' : make('a', { href: hashFor('events', '', query) }, numberText(count));
}

const nodeColumns: Column<NodeView>[] = [
  { title: text('node'), cell: ({ node }) => datum(node) },
  { title: text('state'), cell: ({ phase }) => stateBadge(phase) },
  { title: text('version'), cell: ({ version }) => datum(version) },
  { title: text('seen'), cell: ({ seen }) => ageElement(seen) },
];

function problemLinks({ handlers, methods, inspections, nodes, held_uploads, missing_files }: Overview): HTMLElement[] {
  const down = (list: readonly MethodView[]) =>
    list.filter(({ state, reason }) => state !== 'disabled' && (state !== 'running' || reason !== '')).length;
  // The most serious problem comes first.
  const counts = {
    problemNodes: [nodes.filter(({ phase }) => phase === 'gone').length, hashFor('overview', '', { show: 'nodes' })],
    problemMethods: [down(methods), hashFor('overview', '', { show: 'methods' })],
    problemInspections: [down(inspections), hashFor('overview', '', { show: 'inspections' })],
    problemStopped: [handlers.filter(({ state }) => state === 'stopped').length, hashFor('handlers')],
    problemFailing: [handlers.filter(({ state, is_failing }) => state === 'running' && is_failing).length, hashFor('handlers')],
    problemMissing: [missing_files, hashFor('expectations')],
    problemHeld: [held_uploads ?? 0, hashFor('held')],
    problemPaused: [handlers.filter(({ state, waiting_events }) => state === 'paused' && waiting_events > 0).length, hashFor('handlers')],
  } as const;
  // Inspections hold uploads, and operators pause handlers, on purpose. So these are warnings.
  const intended = ['problemHeld', 'problemPaused'];
  return Object.entries(counts).flatMap(([name, [count, href]]) =>
    count > 0 ? [make('a', { href, className: intended.includes(name) ? 'warn' : '' }, text(name as keyof typeof counts, { count }))] : [],
  );
}

/** Builds a strip that lists current problems. If there are none, `show` hides the strip and says that all is well. */
function problemStrip() {
  const list = make('ul');
  const strip = make('section.problems', { hidden: true }, make('h2', text('problems')), list);
  const fine = make('p.fine', { hidden: true }, badge(text('allIsWell'), 'good'));
  const show = (overview: Overview) => {
    const links = problemLinks(overview);
    fine.hidden = links.length > 0 || overview.incomplete !== '';
    strip.hidden = links.length === 0;
    const told = links.map((link) => `${link.textContent} ${link.getAttribute('href')}`).join();
    // Write only changed text, because screen readers announce each change.
    if (list.dataset.told === told) return;
    list.dataset.told = told;
    list.replaceChildren(...links.map((link) => make('li', link)));
  };
  return { element: make('div', { role: 'status' }, strip, fine), show };
}

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

const [width, height] = [360, 36];

function makeChart({ title, series, format }: ChartModel) {
  const figures = series.map(() => make('strong'));
  const [top, time] = [make('span'), make('span')];
  const svg = makeSvg('svg', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img' });
  const cursor = makeSvg('path', { class: 'cursor' });
  const legend = series.map((one, index) =>
    make('span', { className: `series ${one.kind}` }, series.length > 1 && `${one.title} `, figures[index]),
  );
  const plot = make('div.plot', svg);
  const about = make('figcaption', make('h3', title), make('span.hint', time, top));
  const element = make('figure.chart', about, make('div.legend', ...legend), plot);
  let samples: readonly Sample[] = [];
  let pointed: number | undefined;

  const showFigures = () => {
    const sample = pointed === undefined ? samples.at(-1) : samples[pointed];
    for (const [index, figure] of figures.entries()) {
      const { value } = series[index] as Series;
      // The space keeps the height of the line until the first sample.
      figure.textContent = sample ? format(value(sample)) : '\u00a0';
    }
    time.replaceChildren(...(pointed === undefined ? [] : [timeElement(sample?.time)]));
    top.hidden = pointed !== undefined;
  };

  const pointAt = (column: number) => {
    const index = column - (columnsOf(samples) - samples.length);
    pointed = samples[index] ? index : undefined;
    cursor.setAttribute('d', pointed === undefined ? '' : `M${(column * width) / (columnsOf(samples) - 1)} 0V${height}`);
    showFigures();
  };
  plot.addEventListener('pointermove', ({ offsetX }) => pointAt(Math.round((offsetX / plot.clientWidth) * (columnsOf(samples) - 1))));
  plot.addEventListener('pointerleave', () => pointAt(-1));

  const show = (shown: readonly Sample[]) => {
    samples = shown;
    const highest = Math.max(...samples.flatMap((sample) => series.map(({ value }) => value(sample))), 0);
    const scale = highest > 0 ? (height - 6) / highest : 0;
    const step = width / (columnsOf(samples) - 1);
    const left = width - (samples.length - 1) * step;
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

/** Returns the number of samples that fit in a chart: after a start less than an hour, so that the lines do not shrink to needles. */
const columnsOf = (samples: readonly Sample[]) => Math.max(samples.length, maxSamples / 12);

function makeCharts(intervalSeconds: number, first: readonly Sample[]) {
  const charts = models(intervalSeconds).map(makeChart);
  let samples = first.slice(-maxSamples);
  const title = make('h2.over-charts');
  const show = () => {
    for (const chart of charts) chart.show(samples);
    const [first] = samples;
    const time = first && samples.length < maxSamples && new Date(first.time).toLocaleTimeString(formatTag, { timeStyle: 'short' });
    title.textContent = time ? text('sinceTime', { time }) : text('lastHour');
  };
  show();
  const add = (sample: Sample) => {
    // The first request has perhaps returned this sample already. Times are compared only for equality, because clocks can be set back.
    if (samples.some(({ time }) => time === sample.time)) return;
    samples = [...samples, sample].slice(-maxSamples);
    show();
  };
  const element = make('section', title, make('div.charts', ...charts.map((chart) => chart.element)));
  return { element, add };
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
        // Not only requests cause events of failures, so there can be more of these events than requests.
        { title: text('failureEvents'), value: rate('failures'), kind: 'bad' },
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
