import type { Page } from 'playwright-core';
import { sumRuns, type ToldOccurrence } from '../../src/expectations/told-occurrence.ts';

/** A name that would run code, or change how other texts are displayed, if it were not shown as plain text. */
export const hostileName = '<img src=x onerror=owned()>\u202egnp.exe\u0007';

const uuid = (number: number) => `0b5cad00-1111-4222-8333-${String(number).padStart(12, '0')}`;
const time = (minutes: number) => new Date(Date.UTC(2026, 2, 16, 10, 24) - minutes * 60_000).toISOString();

const handlers = ['running', 'stopped', 'paused', 'disabled'].map((state, index) => ({
  uuid: uuid(index),
  name: index === 1 ? hostileName : `handler ${index}`,
  enabled: state !== 'disabled',
  state,
  reason: { stopped: `The reply has the status 410. ${hostileName}`, paused: `paused by ${hostileName}` }[state] ?? '',
  reason_code: state === 'paused' ? 'paused' : '',
  reason_value: state === 'paused' ? hostileName : '',
  waiting_events: index * 700,
  more_may_wait: index === 2,
  oldest_waiting_seconds: index * 1000,
  rate_per_minute: 4.5,
  urls: ['https://hooks.example.com/a', hostileName],
  is_failing: index === 0,
  last_hour: Array.from({ length: 12 }, (_, part) => ({ delivered: index * part, failed: 12 - part })),
  last_error: index < 2 ? `500 ${hostileName}` : '',
  last_fault: null,
  last_error_time: index < 2 ? time(2) : null,
  suspended_urls: index === 1 ? [{ url: 'https://hooks.example.com/a', until: time(-2) }] : [],
  node: 'node-1',
}));

const event = (number: number) => ({
  id: '40017',
  uuid: uuid(100 + number),
  message: `A file was uploaded: ${hostileName}`,
  timestamp: { timestamp: String(Date.parse(time(number)) / 1000), cwa_14051: '' },
  data: { path: `/${hostileName}`, request_id: `request-${number}`, metadata: [['x-note', hostileName]], total_write: 5, nothing: null },
  account: { uuid: uuid(50), name: hostileName, peer: { address: '192.0.2.7', port: 40_000, protocol: 'TCP', family: 'IPv4' } },
  component: { uuid: uuid(60), type: 'http', name: 'web' },
  server: { uuid: uuid(61), type: 'server', name: 'demo' },
});

const delivery = (number: number) => ({
  id: `d-${number}`,
  time: time(number),
  handler: uuid(number % 3),
  outcome: ['delivered', 'failed', 'discarded'][number % 3],
  events: [event(number), event(number + 1)].map(({ id, uuid: eventUuid }) => ({ id, uuid: eventUuid })),
  first_event: event(number),
  attempts: [
    { url: 'https://hooks.example.com/a', time: time(number), duration_ms: 312, status: 500, reason: hostileName, error: 'failed' },
  ],
  details: 'All URLs failed.',
  source: 'service',
});

const states = ['waiting', 'missing', 'malformed', 'late', 'met', 'excused', 'met', 'met', 'met'] as const;
const occurrence = (day: number): ToldOccurrence => {
  const at = (hours: number) => new Date(Date.UTC(2026, 2, 16 - day, hours)).toISOString().replace('.000', '');
  const state = states[Math.max(day, 0) % states.length] ?? 'met';
  const hasFile = state === 'met' || state === 'late' || state === 'malformed';
  return {
    expectation: 'orders',
    name: hostileName,
    due: at(6),
    opens: at(0),
    grace_ends: at(7),
    state,
    files: hasFile ? [{ path: `/${hostileName}`, time: at(5), size: 1_234_567, event_uuid: uuid(101), account: hostileName }] : [],
    ...(['malformed', 'excused'].includes(state) && { reason: hostileName }),
  };
};
const today = { ...occurrence(1), due: new Date(new Date().setHours(6, 0, 0, 0)).toISOString() };

const fullDelivery = {
  ...delivery(1),
  request: {
    method: 'POST',
    url: 'https://hooks.example.com/a',
    headers: { from: 'configuration', values: { 'content-type': 'application/json', authorization: '***' } },
    body: { from: 'record', text: JSON.stringify(event(1)), is_truncated: true },
  },
  reply: { status: 500, reason: 'no', headers: [['x-trace', hostileName]], body: `first\n\u001b[31m${hostileName}`, is_truncated: false },
};

const replay = {
  id: 'r-1',
  created: time(1),
  administrator: 'olga',
  dry_run: true,
  state: 'done',
  total: 2,
  events: 1,
  done: 2,
  delivered: 0,
  failed: 0,
  details: '',
  results_left_out: 0,
  requests: 1992,
  handlers: 2,
  handler_uuids: [uuid(0), uuid(1)],
  seconds_left: null,
  node: 'node-1',
};

const planned = [[], [`- url ${hostileName}`, '+ url https://hooks.example.com/b']].map((differences) => ({
  handler: uuid(0),
  events: [{ id: '40017', uuid: uuid(101) }],
  request: { method: 'POST', url: 'https://hooks.example.com/b', body: '{"a":1}' },
  differences,
}));

const sample = (minutes: number) => ({
  time: time(minutes),
  requests: 300 - minutes,
  failures: minutes % 7,
  received_bytes: 1_000_000 * minutes,
  sent_bytes: 3_000_000,
  events: 10,
  deliveries: 8,
  failed_deliveries: minutes % 3,
  sessions: 12,
  connections: 40,
  memory_bytes: 180_000_000,
  waiting_events: minutes,
});

const overview = {
  server: { name: 'demo', uuid: uuid(61), version: '0.1.0', node: 'node-1', started: time(9000) },
  services: [{ uuid: uuid(60), type: 'https', name: 'web', url: 'https://files.example.com', node: 'node-1', connections: 3, sessions: 2 }],
  methods: [{ node: 'node-1', uuid: uuid(70), name: 'directory', type: 'http', state: 'stopped', reason: hostileName, fault: null }],
  inspections: [{ node: 'node-1', uuid: uuid(71), name: 'scanner', type: 'clamd', state: 'failed', reason: hostileName, fault: null }],
  handlers,
  transfers: [100_000, null].map((total, index) => ({
    id: `0-${index}`,
    node: 'node-1',
    service: 'web',
    account: 'anna',
    path: `/${hostileName}${'long'.repeat(40)}${index}`,
    direction: 'upload',
    bytes: 50_000,
    total_bytes: total,
    bytes_per_second: 1000,
    started: time(1),
  })),
  transfers_left_out: 3,
  errors: [
    { time: time(3), id: '40022', uuid: uuid(103), kind: 'a', message: hostileName, node: hostileName, count: 412, first: time(60) },
  ],
  held_uploads: 3,
  missing_files: 1,
  journal: { bytes: 1_240_000_000, free_bytes: 88_000_000_000 },
  nodes: ['node-1', 'node-2'].map((node, index) => ({
    node,
    uuid: uuid(80 + index),
    phase: index === 0 ? 'ready' : 'gone',
    version: '0.1.0',
    seen: time(0),
  })),
  incomplete: hostileName,
};

const common = { id: 'i-1', account: hostileName, address: '192.0.2.7', path: `/${hostileName}`, created: time(60), expires: time(-60) };
const ofTrash = { size: 12_000, is_directory: false, deleted: time(90), by: hostileName };
const ofSession = { service: hostileName, client: hostileName, last_used: time(1) };
const items = {
  items: [common, { ...common, id: 'i-2' }].map((item) => ({
    ...item,
    ...ofTrash,
    ...ofSession,
    owner: 'Office',
    received_bytes: 5,
    total_bytes: 10,
  })),
  total: 3,
};

const grant = { ...common, name: hostileName, by: hostileName, last_used: time(5), last_address: '192.0.2.7' };
const token = { ...grant, kind: 'token', permissions: [hostileName], services: null, addresses: null };
const link = { ...grant, kind: 'link', link: 'download', has_password: true, maximum_downloads: 3, downloads: 1, opened: 2 };
const account = (name: string, more: object) => ({
  name,
  source: 'accounts_file',
  method: uuid(70),
  enabled: true,
  problem: '',
  group: hostileName,
  group_name: hostileName,
  home: `/srv/${hostileName}`,
  quota_bytes: 1000,
  used_bytes: 950,
  last_login: { time: time(5), address: '192.0.2.7', service: hostileName, method: uuid(70) },
  sessions: [{ service: hostileName, count: 2, last_used: time(1) }],
  ...more,
});
const accounts = [
  account(hostileName, { problem: `The group "${hostileName}" does not exist.` }),
  account('anna', { enabled: false, source: 'login', last_login: null, sessions: [], quota_bytes: null, used_bytes: null, home: '' }),
  account('x'.repeat(150), { used_bytes: 1001 }),
];

const replies: Readonly<Record<string, unknown>> = {
  '/api/overview': overview,
  '/api/samples': { interval_seconds: 10, samples: Array.from({ length: 60 }, (_, index) => sample(60 - index)) },
  '/api/events': { events: [event(1), event(2)], next: null, searched: { files: 3, bytes: 3000 }, is_complete: true },
  '/api/events/catalogue': {
    events: [
      { id: '40017', name: hostileName, message: hostileName, groups: ['http'], severity: 'success', is_routine: false },
      { id: '40022', name: 'upload failed', message: '', groups: ['http'], severity: 'warning', is_routine: false },
    ],
  },
  '/api/events/histogram': {
    since: time(1440),
    until: time(0),
    bucket_seconds: 1440,
    counts: Array.from({ length: 60 }, (_, part) => ({ events: part, failures: part % 5 })),
    counted_since: time(700),
  },
  [`/api/events/${uuid(101)}`]: {
    event: event(1),
    deliveries: [delivery(1)],
    wanted_by: [{ handler: uuid(1), waits: true }],
    request_events: [event(1), event(2)],
  },
  '/api/deliveries': { deliveries: [0, 1, 2].map(delivery), next: null },
  '/api/deliveries/d-1': fullDelivery,
  '/api/replays': { replays: [replay], incomplete: hostileName },
  '/api/replays/r-1': replay,
  '/api/handlers': { handlers, incomplete: hostileName },
  '/api/sessions': items,
  '/api/bans': items,
  '/api/locks': items,
  '/api/uploads': items,
  '/api/tokens': { items: [token], total: 2 },
  '/api/links': { items: [link, { ...link, id: 'i-2', link: 'drop', maximum_downloads: null }], total: 2 },
  '/api/expectations': {
    expectations: [
      {
        expectation: 'orders',
        name: hostileName,
        enabled: true,
        account: hostileName,
        group: null,
        last: occurrence(0),
        next: occurrence(-1),
      },
      { expectation: 'bills', name: 'Bills', enabled: false, account: null, group: null, last: null, next: null },
    ],
  },
  '/api/expectations/orders/occurrences': {
    occurrences: [],
    runs: sumRuns(
      Array.from({ length: 90 }, (_, day) => occurrence(89 - day)),
      'UTC',
    ),
    punctuality: {
      count: 60,
      earliest: -30_000,
      lower_quartile: -5000,
      median: -720,
      upper_quartile: 0,
      ninth_decile: 900,
      latest: 80_000,
    },
    watched_since: occurrence(60).due,
    options: { path: `/in/${hostileName}`, schedule: '0 6 * * *', every: null, from: null, time_zone: 'Europe/Berlin', grace: 1800 },
  },
  '/api/occurrences': { occurrences: [], runs: sumRuns([occurrence(3), occurrence(2), occurrence(1), today], 'UTC'), total: 9000 },
  '/api/trash': items,
  '/api/accounts': { items: accounts, total: 5, next: null, logins_since: null, logins_complete: false },
  '/api/accounts/anna': { ...accounts[0], name: 'anna' },
  '/api/held': {
    items: [
      {
        id: 'h-1',
        account: hostileName,
        path: hostileName,
        size: 10,
        time: '2026-01-01T00:00:00.000Z',
        digest: { 'sha-256': 'A'.repeat(43) },
        state: 'held',
        reason: 'verdict',
        verdicts: [{ inspection: hostileName, name: hostileName, verdict: 'hold', message: hostileName, time: '2026-01-01T00:00:00.000Z' }],
        real_path: hostileName,
      },
    ],
    total: 2,
  },
  '/api/explain': {
    allowed: false,
    status: 403,
    reason: hostileName,
    group: 'staff',
    real_path: '/srv/a',
    rule: null,
    steps: [
      { step: 'account', ok: true, text: 'anna' },
      { step: 'permission', ok: false, text: hostileName },
    ],
  },
  '/api/auth-test': {
    outcome: 'rejected',
    methods: [
      {
        method: uuid(70),
        type: 'http',
        outcome: 'rejected',
        reason: hostileName,
        warnings: [hostileName],
        duration_ms: 3,
        account: { name: hostileName },
      },
    ],
  },
  '/api/configuration': {
    file: '/etc/svc.yaml',
    configuration: { server: { name: 'demo' }, services: { web: { type: 'http', port: 80 } } },
    set: { server: { name: 'demo' } },
  },
  '/api/configuration/findings': {
    valid: true,
    file: '/etc/svc.yaml',
    findings: [
      {
        severity: 'warning',
        code: 'plain-http',
        file: 'a',
        line: 3,
        column: 1,
        path: 'services.web',
        message: hostileName,
        hint: 'a hint',
      },
    ],
  },
  '/api/configuration/changes': {
    would_reload: true,
    reason: null,
    changes: [
      { path: 'services.web.port', old: 80, new: 81 },
      { path: 'accounts.anna.password', old: '***', new: '***' },
    ],
    findings: [],
  },
};

/** The views of a console by fragment, with the heading that is visible once the view is loaded. */
export const views: readonly (readonly [hash: string, heading: string])[] = [
  ['#overview', 'Overview'],
  ['#events', 'Events'],
  [`#events/${uuid(101)}`, 'Event 40017'],
  ['#deliveries', 'Deliveries'],
  ['#deliveries/d-1', 'Delivery to'],
  ['#deliveries/replays/r-1', 'Dry run'],
  ['#handlers', 'Handlers'],
  ['#accounts', 'Accounts'],
  ['#accounts/anna', 'anna'],
  ['#held', 'Held uploads'],
  ['#expectations', 'Due files'],
  ['#expectations/orders', 'img src'],
  ['#configuration', 'Configuration'],
];

/** Replaces the replies that the page receives by those of a busy installation in which all names are hostile. The login still works. */
export async function answerHostile(page: Page): Promise<void> {
  await page.route(/\/api\/(?!login|logout|me$)/, (route) => {
    const { pathname } = new URL(route.request().url());
    if (pathname === '/api/replays' && route.request().method() === 'POST') return route.fulfill({ json: { id: 'r-1' } });
    if (pathname.endsWith('/live')) return route.fulfill({ contentType: 'text/event-stream', body: ': nothing\n\n' });
    if (pathname.endsWith('/results'))
      return route.fulfill({ contentType: 'application/x-ndjson', body: planned.map((line) => `${JSON.stringify(line)}\n`).join('') });
    const reply = replies[pathname];
    return reply === undefined ? route.fulfill({ status: 404, json: { errors: [] } }) : route.fulfill({ json: reply });
  });
}
