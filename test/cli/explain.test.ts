import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readCases } from '../../src/config/cases/case-file.ts';
import { decide } from '../../src/config/cases/decision.ts';
import { runCase } from '../../src/config/cases/run-case.ts';
import { parseConfig } from '../../src/config/reading/load.ts';
import { parseSource } from '../../src/config/reading/source.ts';
import type { Decision } from '../../src/config/report-shapes.ts';
import type { Config } from '../../src/config/schema/schema.ts';
import { isServiceError } from '../../src/lib/errors.ts';
import { run } from '../support/child.ts';
import { goldenTests } from '../support/golden.ts';
import { temporaryFolder } from '../support/temp.ts';

const key = 'ssh_keys: ["ssh-ed25519 AAAA"]';
const configuration = `
server: {uuid: s, name: files}
authentications:
  local: {type: application}
  corporate: {type: http, url: "https://id.example.com/"}
  public: {type: anonymous, group: GUESTS}
groups:
  DEFAULT_GROUP: {home_folder_path: "/srv/\${USER}"}
  GUESTS: {home_folder_path: /srv/public, permissions: [[allow-read, allow-list]]}
  CLOSED: {enabled: no, home_folder_path: /srv/closed}
  PARTNERS:
    home_folder_path: /srv/partners/\${USER}
    virtual_folders: [[/team/shared, /srv/shared]]
    permissions:
      - [allow-read, allow-list]
      - ["/inbox/\${USER}/*", allow-full-control]
      - ["/inbox/*.csv | /inbox/*.tsv", allow-write, allow-rename, allow-delete-file]
      - ["/sealed*", deny-full-control, allow-read]
accounts:
  alice: {${key}, email: "alice@example.com"}
  bob: {group: PARTNERS, ${key}}
  gone: {enabled: no, ${key}}
  closed: {group: CLOSED, ${key}}
services:
  web: {type: http, name: Web, metadata_fields: x-labels, api_backend_uuid: backend}
event_handlers:
  crm:
    type: http
    target: 40017, 40022
    url: https://a.example.com/hook, https://b.example.com/hook
    extra_data: {text: "{account.name} {data.file_name}", "{id}": yes}
  partners: {type: http, url: "https://p.example.com/", user_groups: PARTNERS, groups: operation-write, request_method: get, extra_data: {path: "{data.path}"}}
  backend: {type: http, url: "https://c.example.com/", target: 40017, data_filter: "api_backend, yes", http_content_type: custom, extra_data: "file {data.path}"}
  off: {type: http, url: "https://c.example.com/", enabled: no}
  admin: {type: http, url: "https://d.example.com/", target: 20012, http_content_type: xml}
`;

function configOf(): Config {
  return parseConfig(parseSource('/nowhere/svc.config.yaml', configuration), {});
}

function text({ steps, allowed, status, rule, real_path }: Decision): string {
  const lines = steps.map((step) => `${step.ok ? '+' : '-'} ${step.step}: ${step.text}`);
  return [...lines, allowed ? `allowed by ${rule}` : `refused (${status}) by ${rule}`, `real path: ${real_path}`].join('\n');
}

goldenTests('explain', (input) =>
  input
    .trim()
    .split('\n')
    .map((line) => {
      const [user = '', method = '', path = '', destination] = line.split(' ');
      return `${line}\n${text(decide(configOf(), { user, method, path, destination }))}\n`;
    })
    .join('\n'),
);

goldenTests('config-test', (input) => {
  try {
    const { cases } = readCases(input, 'cases.yaml');
    return cases
      .map((item) => {
        const { name, problems } = runCase(configOf(), item);
        return `${problems.length === 0 ? 'ok' : 'FAIL'} ${name}\n${problems.map((problem) => `  ${problem}\n`).join('')}`;
      })
      .join('');
  } catch (error) {
    if (isServiceError(error, 'bad-request')) return `refused: ${error.message}\n`;
    throw error;
  }
});

test('for nine requests, svc explain decides as was worked out by hand', () => {
  const config = configOf();
  const byHand: [string, string, string, boolean][] = [
    ['bob', 'PUT', '/home/inbox/a.csv', true],
    ['bob', 'PUT', '/home/inbox/A.CSV', true],
    ['bob', 'PUT', '/home/inbox/a.txt', false],
    ['bob', 'GET', '/home/inbox/a.csv', false],
    ['bob', 'DELETE', '/home/inbox/bob/x/', true],
    ['bob', 'DELETE', '/home/inbox/x/', false],
    ['bob', 'GET', '/home/sealed/x', false],
    ['anonymous', 'PUT', '/home/x', false],
    ['anonymous', 'GET', '/home/', true],
  ];
  for (const [user, method, path, allowed] of byHand) {
    assert.equal(decide(config, { user, method, path }).allowed, allowed, `${user} ${method} ${path}`);
  }
});

test('svc explain says what happens to a new file with a taken name, and how long the file is retained', () => {
  const source = `
groups:
  DEFAULT_GROUP: {home_folder_path: /srv}
  ADDING: {home_folder_path: /srv, permissions: [[allow-create-file, allow-read]], retain: {days: 30}}
accounts:
  alice: {${key}}
  dropper: {group: ADDING, ${key}}
  numberer: {group: ADDING, on_name_taken: number, retain: {days: 0}, ${key}}
services: {web: {type: http}}
`;
  const config = parseConfig(parseSource('/nowhere/svc.config.yaml', source), {});
  const added = (user: string, method: string, path: string) =>
    decide(config, { user, method, path, destination: '/home/b' })
      .steps.filter(({ step, text }) => step === 'permission' && !/is granted$/.test(text))
      .map(({ text }) => text);
  assert.deepEqual(added('alice', 'PUT', '/home/a'), []);
  assert.deepEqual(added('dropper', 'PUT', '/home/a'), [
    '/a: to replace a file: allow-write is not granted',
    '/a: if the name is taken, the new file is refused (403)',
    '/a: the new file is retained for 30 days',
  ]);
  assert.deepEqual(added('dropper', 'COPY', '/home/a'), [
    '/b: to replace a file: allow-write or allow-delete-file is not granted',
    '/b: the new file is retained for 30 days',
  ]);
  assert.deepEqual(added('numberer', 'OPEN-WRITE', '/a'), [
    '/a: to change a file: allow-write is not granted',
    '/a: if the name is taken, the new file gets a number',
  ]);
});

const inspecting = `
inspections:
  virus: {type: clamd, url: 'unix:/run/clamav/clamd.ctl', maximum_size: 100, on_larger: refuse}
  schema: {type: http, url: 'https://erp.example/', on_failure: refuse}
groups:
  PARTNERS: {home_folder_path: /nowhere, inspections: [[virus], ['/in/*.csv', virus, schema], ['/tmp/*']]}
accounts:
  alice: {group: PARTNERS, ${key}}
  free: {${key}}
services: {web: {type: http}}
`;

test('svc explain names the inspections that apply to a change', () => {
  const config = parseConfig(parseSource('/nowhere/svc.config.yaml', inspecting), {});
  const judged = (method: string, path: string, destination?: string) => {
    const { steps, inspections } = decide(config, { user: 'alice', method, path, destination });
    return [inspections, ...steps.filter(({ step }) => step === 'inspection').map(({ text }) => text)];
  };
  assert.deepEqual(judged('PUT', '/home/in/a.csv'), [
    ['virus', 'schema'],
    '/in/a.csv: rule 1 "/in/*.csv" matches; the file is judged by virus, schema',
  ]);
  assert.deepEqual(judged('OPEN-WRITE', '/a'), [['virus'], '/a: the general list applies; the file is judged by virus']);
  assert.deepEqual(judged('PUT', '/home/tmp/a'), [[], '/tmp/a: rule 2 "/tmp/*" matches; the file is not judged']);
  assert.deepEqual(judged('COPY', '/home/in/a.csv', '/home/a')[0], ['virus']);
  assert.deepEqual(judged('MOVE', '/home/tmp/a', '/home/a')[0], ['virus']);
  assert.deepEqual(judged('RENAME', '/in/a.csv', '/a'), [
    [],
    '/a: the general list applies; the file is not judged again: the same inspections applied to its old path',
  ]);
  assert.match(String(judged('MOVE', '/home/tmp/', '/home/in/')[1]), /each file of the folder/);
  assert.deepEqual(judged('GET', '/home/in/a.csv'), [undefined]);
  assert.equal(decide(config, { user: 'free', method: 'PUT', path: '/home/a' }).inspections, undefined);
});

test('cases of svc test can contain verdicts of inspections', () => {
  const config = parseConfig(parseSource('/nowhere/svc.config.yaml', inspecting), {});
  const problems = (text: string) => {
    const [item] = readCases(`- {account: alice, request: PUT /home/in/a.csv, ${text}}`, 'cases.yaml').cases;
    return item && runCase(config, item).problems;
  };
  for (const text of [
    'verdicts: {}, expect: allowed, inspections: [schema, virus]',
    'verdicts: {virus: refuse, schema: hold}, expect: refused, status: 422, reason: virus refuses',
    'verdicts: {schema: hold}, expect: held, status: 202, reason: verdict',
    'verdicts: {virus: failure}, expect: held, reason: failure',
    'verdicts: {virus: late, schema: hold}, expect: held, reason: late',
    'verdicts: {schema: failure}, expect: refused',
    'verdicts: {virus: larger}, expect: refused',
  ])
    assert.deepEqual(problems(text), [], text);
  assert.deepEqual(problems('inspections: [virus]'), ['inspections: expected ["virus"], got ["schema","virus"]']);
  assert.deepEqual(problems('verdicts: {other: hold}'), ['the inspection "other" does not judge this file']);
  assert.deepEqual(problems('verdicts: {schema: hold}, expect: allowed'), ['expected allowed, got held (the file is held (verdict))']);
  const [sftp] = readCases('- {account: alice, request: OPEN-WRITE /a, verdicts: {virus: refuse}, expect: refused, status: 4}', 'c').cases;
  assert.deepEqual(sftp && runCase(config, sftp).problems, []);
});

test('svc explain: exit code 0 if allowed, 1 if refused, 2 on a usage error; --json shows the decision', async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, 'svc.config.yaml'), configuration);
  const yes = await run(t, ['explain', '--user', 'alice', 'put', '/home/a'], { cwd });
  assert.deepEqual([yes.code, yes.stdout.split('\n').at(-2)], [0, 'allowed'], yes.stderr);
  const no = await run(t, ['explain', '--user', 'bob', 'PUT', '/home/a', '--json'], { cwd });
  assert.equal(no.code, 1);
  const { allowed, status, rule, group } = JSON.parse(no.stdout);
  assert.deepEqual({ allowed, status, rule, group }, { allowed: false, status: 403, rule: 'general', group: 'PARTNERS' });
  for (const args of [
    ['explain', 'PUT', '/home/a'],
    ['explain', '--user', 'a', 'POST', '/home/'],
    ['explain', '--user', 'a'],
    ['explain', '-c', 'x', '--user', 'a', 'GET', '/home/'],
  ]) {
    const end = await run(t, args, { cwd });
    assert.deepEqual([end.code, end.stdout], [2, ''], args.join(' '));
  }
});

test('svc test reports passed and failed cases, also with --json and --junit, compares with golden files, and reads stdin', async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, 'svc.config.yaml'), configuration);
  const cases = (status: number) => `
config: svc.config.yaml
cases:
  - {name: alice writes, account: alice, request: PUT /home/a.txt, expect: allowed}
  - {name: bob does not, account: bob, request: PUT /home/a.txt, expect: refused, status: ${status}, rule: general}
  - {name: upload, event: 40017, data: {path: /a.txt}, account: alice, handlers: [crm], golden: golden/upload.json}
`;
  writeFileSync(join(cwd, 'svc.test.yaml'), cases(403));
  const first = await run(t, ['test'], { cwd });
  assert.deepEqual([first.code, /golden\/upload\.json does not exist; --update writes it/.test(first.stdout)], [1, true], first.stderr);
  assert.equal((await run(t, ['test', '--update'], { cwd })).code, 0);
  const golden = JSON.parse(readFileSync(join(cwd, 'golden/upload.json'), 'utf8'));
  assert.deepEqual(golden[0].url, ['https://a.example.com/hook', 'https://b.example.com/hook']);
  assert.equal(golden[0].body.text, 'alice a.txt');
  const passed = await run(t, ['test', '--junit', 'report.xml'], { cwd });
  assert.deepEqual([passed.code, passed.stdout], [0, 'ok   alice writes\nok   bob does not\nok   upload\n3 cases passed, 0 failed\n']);
  assert.match(readFileSync(join(cwd, 'report.xml'), 'utf8'), /tests="3" failures="0"/);
  writeFileSync(join(cwd, 'golden/upload.json'), JSON.stringify(golden, null, 2).replace('alice a.txt', 'alice b.txt'));
  writeFileSync(join(cwd, 'svc.test.yaml'), cases(404));
  const failed = await run(t, ['test', '--json'], { cwd });
  const report = JSON.parse(failed.stdout);
  assert.deepEqual([failed.code, report.passed, report.failed], [1, 1, 2]);
  assert.deepEqual(report.cases[1].problems, ['status: expected 404, got 403']);
  assert.ok(
    report.cases[2].problems.includes('+         "text": "alice a.txt",') ||
      report.cases[2].problems.some((line: string) => line.startsWith('+')),
  );
  const piped = await run(t, ['test', '-'], { cwd, input: '[{account: alice, request: GET /home/, expect: allowed}]' });
  assert.deepEqual([piped.code, piped.stdout], [0, 'ok   alice: GET /home/\n1 case passed, 0 failed\n']);
  for (const [args, pattern] of [
    [['test', 'nothing.yaml'], /the file does not exist/],
    [['test', '.'], /it is a folder/],
    [['test', '--junit', '/nowhere/x.xml'], /Cannot write/],
  ] as [string[], RegExp][]) {
    const end = await run(t, args, { cwd });
    assert.deepEqual([end.code, pattern.test(end.stderr)], [2, true], end.stderr);
  }
});

test('cases of svc test can set environment variables for the configuration; the callout example passes its cases', async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(
    join(cwd, 'svc.config.yaml'),
    'groups: {DEFAULT_GROUP: {home_folder_path: "/srv/${env:ROOT}"}}\nservices: {web: {type: http}}\naccounts: {a: {}}',
  );
  writeFileSync(join(cwd, 't.yaml'), 'env: {ROOT: x}\ncases: [{request: GET /home/f, account: a, real_path: /srv/x/f}]');
  assert.equal((await run(t, ['test', 't.yaml'], { cwd })).code, 0);
  cpSync(join(process.env.SVC_ROOT ?? '.', 'examples/callout'), cwd, { recursive: true });
  const end = await run(t, ['test'], { cwd });
  assert.equal(end.code, 0, end.stdout + end.stderr);
});
