import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError } from '../../src/config/findings.ts';
import { parseConfig } from '../../src/config/reading/load.ts';
import { parseSource } from '../../src/config/reading/source.ts';
import type { Finding } from '../../src/config/report-shapes.ts';
import { configJsonSchema } from '../../src/config/schema/json-schema.ts';
import type { Config } from '../../src/config/schema/schema.ts';
import { checkedConfig } from '../support/checked-config.ts';
import { assertLinear } from '../support/doubling.ts';
import { configurations } from '../support/many-entries.ts';
import { configWith, options as table } from '../support/option-table.ts';

// These are two of the entries of `configurations`. test/config/many-entries.long.test.ts runs the test for all of them.
for (const name of ['unknown options of services', 'one address for all services'])
  test(`the work of a check grows at most linearly with the configuration: ${name}, in one line`, () =>
    assertLinear(name, (count) => JSON.stringify(configurations[name]?.(count)), checkedConfig, 1000));

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

function optionText(where: string, option: string, value: string): string {
  return JSON.stringify(configWith(where, option, '@')).replace('"@"', () => value);
}

test('a fault in a file of JSON is told in the words of JSON, at its place, and without the text around it', () => {
  const faultOf = (text: string): Finding | undefined => {
    try {
      parseSource('/etc/svc/svc.config.json', text);
      return undefined;
    } catch (error) {
      assert.ok(error instanceof ConfigError, String(error));
      assert.equal(JSON.stringify(error.findings).includes('marker'), false, 'the text can be a secret');
      return error.findings[0];
    }
  };
  const missingComma = faultOf('{\n  "services": {\n    "marker": {"type": "http" "port": 0}\n  }\n}\n');
  assert.deepEqual([missingComma?.code, missingComma?.line, missingComma?.column], ['syntax', 3, 31]);
  assert.match(missingComma?.message ?? '', /^This is not valid JSON: Expected ',' or '}' after property value\.$/);
  assert.equal(faultOf('{"server": {"name": "a"}')?.line, 1);
  assert.equal(faultOf('{"server": {"name": marker: }')?.code, 'syntax', 'a fault whose words would quote the text');
  assert.equal(faultOf('{"server": {"name": "a",}}'), undefined, 'a comma more than JSON permits is accepted');
});

/** Options without a row of their own: entries of maps, and those that another row documents. */
const elsewhere = new Set(['$schema', 'type', 'state', 'log', 'events', 'uploads', 'held', 'password_policy', 'security_policy']);

test('the table has every option of the schema', () => {
  const { properties } = configJsonSchema() as { properties: Record<string, Node> };
  const kinds = (section: string): Node[] => {
    const entry = properties[section]?.additionalProperties;
    return entry?.oneOf ?? entry?.anyOf ?? (entry ? [entry] : []);
  };
  const [callout, application, anonymous] = kinds('authentications');
  const [http, https, ssh, monitor] = kinds('services');
  const nodes: Record<string, Node | undefined> = {
    server: properties.server,
    state: properties.server?.properties?.state,
    log: properties.server?.properties?.log,
    events: properties.server?.properties?.events,
    uploads: properties.server?.properties?.uploads,
    password: properties.server?.properties?.password_policy,
    security: properties.server?.properties?.security_policy,
    callout,
    application,
    anonymous,
    group: kinds('groups')[0],
    account: kinds('accounts')[0],
    http,
    https,
    ssh,
    monitor,
    handler: kinds('event_handlers')[0],
    forward: kinds('event_handlers')[1],
  };
  // http and https share one definition, so a row of either covers both.
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

test('every option accepts the valid values of the table', () => {
  for (const [where, option, good] of table) {
    for (const value of good) {
      const text = optionText(where, option, value);
      assert.deepEqual(findings(text), [], text);
    }
  }
});

test('every option refuses invalid values and reports their place', () => {
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

test('an option means the same as a text and as a list or map', () => {
  const handler = (option: string, value: string) => parse(optionText('handler', option, value)).event_handlers.h;
  assert.deepEqual(handler('target', '"40017, !40022"')?.target, { include: [40017], exclude: [40022] });
  assert.deepEqual(handler('target', '[40017, "!40022"]')?.target, { include: [40017], exclude: [40022] });
  assert.deepEqual(handler('data_filter', '"a, b, c"')?.data_filter, [{ name: 'a', expression: 'b, c' }]);
  const service = (option: string, value: string) => {
    const options = parse(optionText('http', option, value)).services.s;
    assert.ok(options?.type === 'http');
    return options;
  };
  assert.deepEqual(service('headers', '"X-A: b:c"').headers, service('headers', '{X-A: "b:c"}').headers);
  assert.deepEqual(service('metadata_fields', '"x, required\\na-*"').metadata_fields, {
    header: 'x',
    required: true,
    keys: [{ pattern: 'a-*', required: false }],
  });
  assert.deepEqual(service('triggers', '["Reject, warning, G, H"]').triggers, [{ name: 'Reject', style: 'warning', groups: ['G', 'H'] }]);
  assert.equal(service('port', '"80"').port, 80);
  const group = parse('groups: {g: {permissions: [[allow-read], ["/in/*", allow-write, allow-list]]}}').groups.g;
  assert.deepEqual(group?.permissions, {
    general: ['allow-read'],
    rules: [{ expression: '/in/*', permissions: ['allow-write', 'allow-list'] }],
  });
});

test('relative paths are relative to the configuration file; a reference to USER in them stays as it is', () => {
  const config = parse('server: {data_folder_path: ./d}\ngroups: {g: {home_folder_path: "./f/${USER}", virtual_folders: [[/a, ../x]]}}');
  assert.equal(config.server.data_folder_path, '/etc/svc/d');
  assert.equal(config.groups.g?.home_folder_path, '/etc/svc/f/${USER}');
  assert.deepEqual(config.groups.g?.virtual_folders, [['/a', '/etc/x']]);
});

test('interpolation handles values, defaults and unset variables, and no error shows a secret', () => {
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

test('all problems are reported at once, each with its place and the nearest valid name', () => {
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

test('a file that is not a configuration gets a finding with the reason', () => {
  const bomb = `a: &a [x,x,x,x,x,x,x,x,x,x]\n${Array.from({ length: 8 }, (_, index) => `${'bcdefghij'[index]}: &${'bcdefghij'[index]} [${Array(10).fill(`*${'abcdefghi'[index]}`).join(',')}]`).join('\n')}`;
  const cases: [string, RegExp][] = [
    ['server: {name: a}\nserver: {name: b}', /duplicate-key|unique/i],
    ['server:\n\tname: x', /tab/i],
    ['server: {', /syntax/],
    ['{"server": }', /syntax|bad-value/],
    [bomb, /alias/i],
    ['a: &x {b: *x}', /alias|circular|nest|unknown|deep/i],
    [`${'{'.repeat(1) + '"a":'.repeat(1) + '['.repeat(40) + ']'.repeat(40)}}`, /nested deeper/],
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
