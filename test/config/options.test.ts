import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Finding } from '../../src/config/finding.ts';
import { ConfigError } from '../../src/config/findings.ts';
import { parseConfig } from '../../src/config/reading/load.ts';
import { parseSource } from '../../src/config/reading/source.ts';
import { configJsonSchema } from '../../src/config/schema/json-schema.ts';
import type { Config } from '../../src/config/schema/schema.ts';

function parse(text: string, env: Record<string, string> = {}): Config {
  return parseConfig(parseSource('/etc/svc/svc.config.yaml', text), env);
}

function findings(text: string, env: Record<string, string> = {}): readonly Finding[] {
  try {
    parse(text, env);
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.findings;
  }
  return [];
}

const texts: [string[], string[]] = [
  ['x', '"a b"', '""'],
  ['[]', '5', 'null', '{a: b}'],
];
const paths: [string[], string[]] = [
  ['./x.pem', '/etc/x.pem', '""', 'null'],
  ['[]', '{a: b}'],
];
const urls: [string[], string[]] = [
  ['"http://a/, https://b/"', '["http://a/", "https://b/"]', 'https://a:1/b?c=d'],
  ['""', 'ftp://x', 'nonsense', 'http://user:pw@x/', '[]', '["http://a/", 5x]', 'null'],
];

const at: Record<string, (yaml: string) => string> = {
  server: (yaml) => `server: {${yaml}}`,
  state: (yaml) => `server: {state: {${yaml}}}`,
  log: (yaml) => `server: {log: {${yaml}}}`,
  events: (yaml) => `server: {events: {${yaml}}}`,
  password: (yaml) => `server: {password_policy: {${yaml}}}`,
  security: (yaml) => `server: {security_policy: {${yaml}}}`,
  callout: (yaml) => `authentications: {a: {type: http, url: "http://x/", ${yaml}}}`,
  application: (yaml) => `authentications: {a: {type: application, ${yaml}}}`,
  anonymous: (yaml) => `authentications: {a: {type: anonymous, ${yaml}${yaml.startsWith('group:') ? '' : ', group: DEFAULT_GROUP'}}}`,
  group: (yaml) => `groups: {g: {${yaml}}}`,
  account: (yaml) => `accounts: {alice: {${yaml}}}`,
  http: (yaml) => `services: {s: {type: http, ${yaml}}}`,
  https: (yaml) => `services: {s: {type: https, ${yaml}}}`,
  monitor: (yaml) => `services: {s: {type: monitor, ${yaml}}}`,
  handler: (yaml) => `event_handlers: {h: {type: http, url: "http://x/", ${yaml}}}`,
};

const hash = `$scrypt$ln=14,r=8,p=5$${'A'.repeat(22)}$${'B'.repeat(43)}`;
const yesNo = [
  ['yes', 'no', 'true', 'false', '"yes"', '"0"'],
  ['maybe', '2', '[]', 'null'],
];
const seconds = [
  ['1', '"1.5"'],
  ['-1', 'x', '[]', 'null', 'true'],
];
const headers = [
  ['"X-A: b"', '"X-A: b\\nX-B: c"', '["X-A: b", "X-B: c"]', '{X-A: b, X-B: 1}', '""'],
  ['nocolon', '"X A: b"', '"X-A: b\\rX"', '5', '{"X A": b}'],
];
const names = [
  ['"a, b"', '[a, b]', '""', '"a, \\"b, c\\""'],
  ['{a: b}', '"\\"a"'],
];

/** Every option: where it stands, values that are good in either spelling, and values that are refused. */
const table: [string, string, string[], string[]][] = [
  ['server', 'uuid', ['abc', 'cc5c804d-0a3c'], ['a/b', '"a|b"', '5', '""']],
  ['server', 'name', ['x'], ['[]', '5']],
  ['server', 'data_folder_path', ['./x'], ['""', '5']],
  ['server', 'shutdown_timeout', ['0', '"30"'], ['-1', 'x']],
  ['server', 'shutdown_delay', ['0', '"5"'], ['-1', '3601']],
  ['server', 'user', ['svc', '""'], ['5', '[]']],
  ['server', 'group', ['svc', '""'], ['5', '[]']],
  ['server', 'umask', ['"027"', '"0027"', '""'], ['"9"', '"27"', 'true']],
  ['state', 'type', ['memory', 'redis'], ['mongo', '5']],
  ['state', 'url', ['redis://x'], ['5']],
  ['state', 'prefix', ['svc', '"a.b-c_1"'], ['""', '"a b"', '"{x}"']],
  ['state', 'ca_certificates_path', ['./ca.pem'], ['[]']],
  ['state', 'retention_days', ['0', '"0.5"'], ['-1', 'x']],
  ['state', 'secret', ['x', '""'], ['[]']],
  ['state', 'sentinel_username', ['x', '""'], ['[]']],
  ['state', 'sentinel_password', ['x', '""'], ['[]']],
  ['log', 'level', ['debug', 'info', 'warn', 'error'], ['loud', '1']],
  ['log', 'format', ['pretty', 'json'], ['xml']],
  ['events', 'retention_days', ['1', '"0.5"'], ['0', 'x']],
  ['events', 'maximum_file_size', ['65536', '"1000000"'], ['1', '1.5', 'x']],
  ['password', 'minimum_length', ['1', '"12"'], ['0', '151', '1.5']],
  ['password', 'character_requirements', ['[]', '[digit, symbol]', '"lowercase, uppercase"'], ['emoji', '5x']],
  ['password', 'history', ['0', '5'], ['-1', '101']],
  ['security', 'ban_after_failures', ['0', '"5"', '10000'], ['-1', '1.5', '10001']],
  ['security', 'ban_seconds', ['1', '"3600"'], ['0', 'x']],
  ['security', 'ban_window_seconds', ['1'], ['0']],
  ['callout', 'enabled', ...(yesNo as [string[], string[]])],
  ['callout', 'timeout', ['0.5', '"120"'], ['0', '3601', 'x']],
  ['callout', 'username', ['x', '""', 'null'], ['[]']],
  ['callout', 'password', ['x', '12345'], ['[]']],
  ['callout', 'headers', ...(headers as [string[], string[]])],
  ['callout', 'test_at_start', ...(yesNo as [string[], string[]])],
  ['callout', 'ca_certificates_path', ['./ca.pem'], ['[]']],
  ['callout', 'cache_seconds', ['0', '"60"'], ['-1']],
  ['application', 'accounts_file_path', ['./accounts.yaml'], ['[]']],
  ['anonymous', 'group', ['DEFAULT_GROUP'], ['5', '""', 'a/b']],
  ['group', 'enabled', ...(yesNo as [string[], string[]])],
  ['group', 'home_folder_path', ['"/srv/${USER}"', 'null'], ['[]']],
  ['group', 'create_home_folder', ...(yesNo as [string[], string[]])],
  ['group', 'create_home_folder_owner', ['root', 'null'], ['[]']],
  ['group', 'create_home_folder_group', ['root', 'null'], ['[]']],
  ['group', 'home_folder_structure', ['[a, [b/c]]', '"a, b"'], ['[../x]', '{}', '[[a, b]]']],
  ['group', 'virtual_folders', ['[]', '[[/a, /srv/a]]'], ['[[a, /srv]]', '[[/a]]', '[[/, /srv]]', '[[/a/../b, /x]]', 'x']],
  [
    'group',
    'permissions',
    ['[[allow-read]]', '[[allow-read, allow-list], ["/in/*", allow-write]]', '"allow-read, allow-list"', '[allow-read]'],
    ['[[allow-everything]]', '[[allow-read], ["/x"]]', '[[], ["e/(/", allow-read]]', '5'],
  ],
  ['group', 'allow_own_password_change', ...(yesNo as [string[], string[]])],
  ['group', 'file_write_size', ['0', '"1000"'], ['-1', '1.5']],
  ['group', 'quota_size', ['0', '"1000"'], ['-1', 'x']],
  ['account', 'enabled', ...(yesNo as [string[], string[]])],
  ['account', 'password', [`"${hash}"`, 'null'], ['secret', `"${hash.replace('ln=14', 'ln=31')}"`, '5']],
  ['account', 'email', ['a@b.c', '"a@b.c, d@e.f"'], ['[]']],
  ['account', 'group', ['DEFAULT_GROUP'], ['5']],
  ['account', 'ssh_keys', ['[]', '["ssh-ed25519 AAAA"]'], ['x']],
  ['account', 'certificates', ['[]'], ['x']],
  ['http', 'enabled', ...(yesNo as [string[], string[]])],
  ['http', 'address', ['0.0.0.0', '"::1"'], ['""', '5']],
  ['http', 'port', ['0', '8080', '"8080"'], ['65536', '-1', '80.5', 'x']],
  ['http', 'authentications', ['a', '"a, b"', '[a, b]', 'null'], ['{}']],
  ['http', 'public_error', ...(yesNo as [string[], string[]])],
  ['http', 'idle_connection_timeout', ...(seconds as [string[], string[]])],
  ['http', 'session_maximum_age', ...(seconds as [string[], string[]])],
  ['http', 'maximum_concurrent_connections', ['1', '"100"'], ['0', '1.5']],
  ['http', 'maximum_request_size', ['0', '"100"'], ['-1']],
  ['http', 'headers', ...(headers as [string[], string[]])],
  [
    'http',
    'appearance',
    ['{}', '{title: Files, accent_color: "#7a2048"}'],
    ['5', '{titel: x}', '{accent_color: red}', '{accent_color: "#eeeeee"}'],
  ],
  [
    'http',
    'accepted_origins',
    ['https://a.example', '[https://a.example, "http://b:8080"]'],
    ['a.example', 'https://a.example/', 'https://a.example/x'],
  ],
  ['http', 'client_forwarded_header', ['X-Forwarded-For', '""', 'null'], ['"X Y"']],
  ['http', 'trusted_proxies', ['10.0.0.5', '"10.0.0.0/8, ::1"', '[10.0.0.0/8]', '""', 'null'], ['10.0.0.0/33', 'proxy.example', '{}']],
  ['http', 'announce_session_authentication', ...(yesNo as [string[], string[]])],
  ['http', 'announce_version', ...(yesNo as [string[], string[]])],
  ['http', 'webdav_compatibility', ...(yesNo as [string[], string[]])],
  [
    'http',
    'metadata_fields',
    ['x-labels', '"x-labels, required"', '["x-labels, optional", "a-*, required"]', '"x-labels\\na, required"'],
    ['"x labels"', '"x-labels, maybe"', '["x-labels", "[, required, x"]'],
  ],
  [
    'http',
    'triggers',
    ['["Approve, success", "Reject, warning, DEFAULT_GROUP"]', '"Approve, success"', '[]'],
    ['["Approve, loud"]', '["delete, success"]'],
  ],
  ['http', 'api_backend_uuid', ['h', '""', 'null'], ['a/b']],
  ['http', 'api_passthrough_headers', ['"x-receipt, x-scan"', '[x-receipt]'], ['Set-Cookie', 'connection', 'content-length', '"x y"']],
  ['http', 'api_partial_success_headers', ...(headers as [string[], string[]])],
  ['https', 'tls_minimum_version', ['TLSv1.2', 'TLSv1.3'], ['TLSv1.1', '1.2']],
  ['monitor', 'port', ['0', '"9100"'], ['x']],
  ['handler', 'target', ['""', '40017', '"40017, 40022"', '[40017, 40022]', '"!40004"'], ['99999', 'upload']],
  ['handler', 'groups', ['""', 'http', '"http, !process"', '[success]'], ['nonsense']],
  ['handler', 'usernames', ...(names as [string[], string[]])],
  ['handler', 'source_addresses', ['10.0.0.0/8'], ['{}']],
  ['handler', 'data_filter', ['"api_backend, yes"', '["a, b", "c, !e/x/"]', '{api_backend: yes}'], ['nocomma', '"a, e/(/"']],
  ['handler', 'request_method', ['post', 'PUT', 'get'], ['delete', '5']],
  ['handler', 'http_content_type', ['json', 'xml', 'soap'], ['yaml']],
  ['handler', 'expected_response', ['""', '"*OK*"', '"e/ok/i"'], ['"e/(/"']],
  ['handler', 'retry_count', ['0', '"2"'], ['-1', '1.5']],
  ['handler', 'retry_increase', ['0', '"0.5"'], ['-1']],
  ['handler', 'fail_after_errors', ['0', '10'], ['-1']],
  [
    'handler',
    'extra_data',
    ['{text: "{message}"}', `'{"a": 1}'`, 'null'],
    ['{events: 1}', '{server: x}', 'nojson', '[1]', `'{"a": ${'['.repeat(70)}${']'.repeat(70)}}'`],
  ],
  ['handler', 'batch_size', ['1', '"100"'], ['0']],
  ['handler', 'concurrency', ['1', '8'], ['0', '1000']],
  ['handler', 'signing_secret', ['""', 'whsec_abc', '[a, b]', 'null'], ['{}']],
  ...(['callout', 'application', 'anonymous', 'group', 'http', 'monitor', 'handler'] as const).flatMap((where): typeof table => [
    [where, 'name', ...texts],
    [where, 'description', ...texts],
  ]),
  ...(['application', 'anonymous', 'monitor', 'handler'] as const).map((where): (typeof table)[number] => [
    where,
    'enabled',
    ...(yesNo as [string[], string[]]),
  ]),
  ...(['tls_certificate_path', 'tls_key_path', 'tls_client_ca_path'] as const).map((option): (typeof table)[number] => [
    'https',
    option,
    ...paths,
  ]),
  ['callout', 'url', ...urls],
  ['handler', 'url', ...urls],
  ['handler', 'user_groups', ...(names as [string[], string[]])],
  ['handler', 'components', ...(names as [string[], string[]])],
  ['handler', 'headers', ...(headers as [string[], string[]])],
  ['handler', 'username', ['x', '""', 'null', '5'], ['[]']],
  ['handler', 'password', ['x', '12345', 'null'], ['[]', '{}']],
  ['handler', 'timeout', ['0.5', '"120"'], ['0', '3601', 'x']],
  ['handler', 'ca_certificates_path', ...paths],
  ['monitor', 'address', ['0.0.0.0', '"::1"'], ['""', '5']],
  ['account', 'uuid', ['abc', '"a b"'], ['a/b', '"a|b"', '5', '""']],
  ['account', 'home_folder_path', ['"/srv/${USER}"', 'null'], ['[]']],
  ['account', 'create_home_folder', ['yes', '"no"', 'true'], ['maybe', '[]']],
  ['account', 'create_home_folder_owner', ['root', 'null'], ['[]']],
  ['account', 'create_home_folder_group', ['root', 'null'], ['[]']],
  ['account', 'home_folder_structure', ['[a, [b/c]]', '"a, b"'], ['[../x]', '{}', '[[a, b]]']],
  ['account', 'virtual_folders', ['[]', '[[/a, /srv/a]]'], ['[[a, /srv]]', '[[/a]]', 'x']],
  ['account', 'permissions', ['[[allow-read]]', '"allow-read, allow-list"'], ['[[allow-everything]]', '5']],
];

function optionText(where: string, option: string, value: string): string {
  // Their texts give a URL already.
  if (option === 'url' && where === 'handler') return `event_handlers: {h: {type: http, url: ${value}}}`;
  if (option === 'url' && where === 'callout') return `authentications: {a: {type: http, url: ${value}}}`;
  return at[where]?.(`${option}: ${value}`) ?? '';
}

/** Options that stand in no table: entries of maps, and what the table's own texts already give. */
const elsewhere = new Set(['$schema', 'type', 'state', 'log', 'events', 'password_policy', 'security_policy']);

test('the table has every option of the schema', () => {
  const { properties } = configJsonSchema() as { properties: Record<string, Node> };
  const kinds = (section: string): Node[] => {
    const entry = properties[section]?.additionalProperties;
    return entry?.oneOf ?? entry?.anyOf ?? (entry ? [entry] : []);
  };
  const [callout, application, anonymous] = kinds('authentications');
  const [http, https, monitor] = kinds('services');
  const nodes: Record<string, Node | undefined> = {
    server: properties.server,
    state: properties.server?.properties?.state,
    log: properties.server?.properties?.log,
    events: properties.server?.properties?.events,
    password: properties.server?.properties?.password_policy,
    security: properties.server?.properties?.security_policy,
    callout,
    application,
    anonymous,
    group: kinds('groups')[0],
    account: kinds('accounts')[0],
    http,
    https,
    monitor,
    handler: kinds('event_handlers')[0],
  };
  // http and https share one definition; a row of either counts for both.
  const covered = new Set(table.map(([where, option]) => `${where === 'https' ? 'http' : where}.${option}`));
  const missing = Object.entries(nodes).flatMap(([where, node]) =>
    Object.keys(node?.properties ?? {})
      .filter((option) => !elsewhere.has(option) && !covered.has(`${where === 'https' ? 'http' : where}.${option}`))
      .map((option) => `${where}.${option}`),
  );
  assert.deepEqual([...new Set(missing)], []);
});

interface Node {
  properties?: Record<string, Node>;
  additionalProperties?: Node;
  oneOf?: Node[];
  anyOf?: Node[];
}

test('every option takes its good values in both spellings', () => {
  for (const [where, option, good] of table) {
    for (const value of good) {
      const text = optionText(where, option, value);
      assert.deepEqual(findings(text), [], text);
    }
  }
});

test('every option refuses bad values, and says where', () => {
  for (const [where, option, , bad] of table) {
    for (const value of bad) {
      const text = optionText(where, option, value);
      const found = findings(text);
      assert.ok(found.length > 0, `${text} is accepted`);
      assert.ok(
        found.every((finding) => finding.path.includes(option) && finding.line === 1 && finding.column > 1 && finding.message.length > 5),
        `${text}: ${JSON.stringify(found)}`,
      );
    }
  }
});

test('both spellings mean the same', () => {
  const handler = (yaml: string) => parse(at.handler?.(yaml) ?? '').event_handlers.h;
  assert.deepEqual(handler('target: "40017, !40022"')?.target, { include: [40017], exclude: [40022] });
  assert.deepEqual(handler('target: [40017, "!40022"]')?.target, { include: [40017], exclude: [40022] });
  assert.deepEqual(handler('data_filter: "a, b, c"')?.data_filter, [{ name: 'a', expression: 'b, c' }]);
  const service = (yaml: string) => {
    const options = parse(at.http?.(yaml) ?? '').services.s;
    assert.ok(options?.type === 'http');
    return options;
  };
  assert.deepEqual(service('headers: "X-A: b:c"').headers, service('headers: {X-A: "b:c"}').headers);
  assert.deepEqual(service('metadata_fields: "x, required\\na-*"').metadata_fields, {
    header: 'x',
    required: true,
    keys: [{ pattern: 'a-*', required: false }],
  });
  assert.deepEqual(service('triggers: ["Reject, warning, G, H"]').triggers, [{ name: 'Reject', style: 'warning', groups: ['G', 'H'] }]);
  assert.equal(service('port: "80"').port, 80);
  const group = parse('groups: {g: {permissions: [[allow-read], ["/in/*", allow-write, allow-list]]}}').groups.g;
  assert.deepEqual(group?.permissions, {
    general: ['allow-read'],
    rules: [{ expression: '/in/*', permissions: ['allow-write', 'allow-list'] }],
  });
});

test('relative paths are relative to the file; ${USER} stays', () => {
  const config = parse('server: {data_folder_path: ./d}\ngroups: {g: {home_folder_path: "./f/${USER}", virtual_folders: [[/a, ../x]]}}');
  assert.equal(config.server.data_folder_path, '/etc/svc/d');
  assert.equal(config.groups.g?.home_folder_path, '/etc/svc/f/${USER}');
  assert.deepEqual(config.groups.g?.virtual_folders, [['/a', '/etc/x']]);
});

test('interpolation: values, defaults, unset variables, and no secret in an error', () => {
  const env = { PORT: '81', SECRET: 'hunter2', EMPTY: '' };
  assert.equal(parse('services: {s: {type: http, port: "${env:PORT}"}}', env).services.s?.port, 81);
  assert.equal(parse('server: {name: "${env:NOPE:-a}-${env:EMPTY:-b}"}', env).server.name, 'a-b');
  const [unset] = findings('server:\n  name: ${env:NOPE}');
  assert.deepEqual([unset?.code, unset?.line, unset?.path], ['interpolation', 2, 'server.name']);
  assert.match(unset?.message ?? '', /NOPE is not set/);
  for (const yaml of [
    'services: {s: {type: http, port: "${env:SECRET}"}}',
    'services: {s: {type: "${env:SECRET}"}}',
    'event_handlers: {h: {type: http, url: "x://u:${env:SECRET}@h"}}',
    'accounts: {a: {password: "${env:SECRET}"}}',
    'services: {s: {type: http, headers: "X-A: ${env:SECRET}\\u0001"}}',
  ]) {
    const found = findings(yaml, env);
    assert.ok(found.length > 0, yaml);
    assert.equal(JSON.stringify(found).includes('hunter2'), false, yaml);
  }
  assert.match(findings('server: {name: "${file:/does/not/exist}"}')[0]?.message ?? '', /cannot read the file/);
});

test('all problems at once, each in its place, with the nearest name', () => {
  const found = findings(
    'services:\n  web:\n    type: http\n    prot: 1\n    address: 5\n  x: {type: ftp}\nsrever: {}\nevent_handlers:\n  h: {type: http}\n',
  );
  assert.deepEqual(
    found.map((finding) => [finding.line, finding.column, finding.code, finding.path, finding.hint ?? '']),
    [
      [4, 5, 'unknown-option', 'services.web.prot', 'did you mean "port"?'],
      [5, 14, 'bad-value', 'services.web.address', ''],
      [6, 13, 'bad-value', 'services.x.type', ''],
      [7, 1, 'unknown-option', 'srever', 'did you mean "server"?'],
      [9, 3, 'missing-option', 'event_handlers.h.url', ''],
    ],
  );
});

test('files that are no configurations get one clear finding', () => {
  const bomb = `a: &a [x,x,x,x,x,x,x,x,x,x]\n${Array.from({ length: 8 }, (_, index) => `${'bcdefghij'[index]}: &${'bcdefghij'[index]} [${Array(10).fill(`*${'abcdefghi'[index]}`).join(',')}]`).join('\n')}`;
  const cases: [string, RegExp][] = [
    ['server: {name: a}\nserver: {name: b}', /duplicate-key|unique/i],
    ['server:\n\tname: x', /tab/i],
    ['server: {', /syntax/],
    ['{"server": }', /syntax|bad-value/],
    [bomb, /alias/i],
    ['a: &x {b: *x}', /alias|circular|nest|unknown|deep/i],
    [`${'{'.repeat(1) + '"a":'.repeat(1) + '['.repeat(40) + ']'.repeat(40)}}`, /nests deeper/],
    ['__proto__: {x: 1}', /__proto__/],
    ['just text', /map/],
    ['[1, 2]', /map/],
    ['accounts: {"a/b": {}}', /account name/],
    ['services: {"a|b": {type: http}}', /must not contain/],
  ];
  for (const [text, pattern] of cases) assert.match(JSON.stringify(findings(text)), pattern, text.slice(0, 80));
  assert.deepEqual(findings('\ufeffserver: {name: a}\r\nservices: {}\r\n'), [], 'BOM and CRLF are fine');
  assert.deepEqual(
    findings('groups:\n  a: &g {home_folder_path: /a}\n  b: {<<: *g, enabled: no}\n'),
    [],
    'anchors and merge keys are fine',
  );
});
