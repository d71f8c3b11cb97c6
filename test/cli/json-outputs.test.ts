import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { jsonOutputs } from '../../src/cli/config/schema.ts';
import { optionExamples } from '../../src/config/schema/json-schema.ts';
import { configSchema } from '../../src/config/schema/schema.ts';
import { run, start, startMock } from '../support/child.ts';
import { temporaryFolder } from '../support/temp.ts';

const configuration = `
groups: {DEFAULT_GROUP: {home_folder_path: ./f}}
accounts: {alice: {ssh_keys: [nonsense]}}
services: {web: {type: http, port: 0}}
`;

async function server(t: TestContext) {
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, 'svc.config.yaml'), configuration);
  writeFileSync(join(cwd, 'bad.yaml'), 'services: {web: {type: http, prot: 1}}');
  writeFileSync(
    join(cwd, 'svc.test.yaml'),
    '[{account: alice, request: GET /home/}, {event: 40017}, {account: a, reply: {status: 403, body: no}}]',
  );
  const { url } = await startMock(t, ['auth', '--reject', 'mallory'], cwd);
  writeFileSync(join(cwd, 'suite.yaml'), '[{username: bob, password: x, expect: next}]');
  await start(t, ['serve'], { cwd }).line(/listening/);
  return { cwd, url };
}

test('the output of --json conforms to svc schema, and stdout has nothing else', async (t) => {
  const { cwd, url } = await server(t);
  const auth = ['auth-test', '--url', url, '--password', 'x', '--json', '--username'];
  const outputs: [keyof typeof jsonOutputs, string[]][] = [
    ['validate', ['validate', '--json']],
    ['validate', ['validate', '--json', 'bad.yaml']],
    ['explain', ['explain', '--user', 'alice', 'PUT', '/home/x', '--json']],
    ['explain', ['explain', '--user', 'nobody', 'PUT', '/x', '--json']],
    ['test', ['test', '--json']],
    ['reload', ['reload', '--json']],
    ['auth-test', [...auth, 'bob', '--expect', 'next']],
    ['auth-test', [...auth, 'mallory']],
    ['auth-test-suite', ['auth-test', '--url', url, '--suite', 'suite.yaml', '--json']],
  ];
  for (const [what, args] of outputs) {
    const { stdout } = await run(t, args, { cwd });
    const result = jsonOutputs[what].safeParse(JSON.parse(stdout));
    assert.ok(result.success, `${args.join(' ')}: ${result.error?.message}\n${stdout}`);
  }
  for (const what of [...Object.keys(jsonOutputs), 'cases', 'config']) {
    const { stdout, code } = await run(t, ['schema', what], { cwd });
    assert.deepEqual([code, typeof JSON.parse(stdout).title], [0, 'string'], what);
  }
  assert.equal((await run(t, ['schema', 'nonsense'], { cwd })).code, 2);
});

test('every example of the JSON Schema is a valid value', () => {
  const hostOf: Record<string, (option: string, value: unknown) => unknown[]> = {
    server: (option, value) => [{ server: { [option]: value } }],
    authentications: (option, value) =>
      [{ type: 'http', url: 'http://x/' }, { type: 'application' }].map((base) => ({
        authentications: { a: { ...base, [option]: value } },
      })),
    groups: (option, value) => [{ groups: { g: { [option]: value } } }],
    accounts: (option, value) => [{ accounts: { a: { [option]: value } } }],
    services: (option, value) => [{ services: { s: { type: 'https', [option]: value } } }],
    event_handlers: (option, value) => [{ event_handlers: { h: { type: 'http', url: 'http://x/', [option]: value } } }],
  };
  for (const [section, options] of Object.entries(optionExamples)) {
    for (const [option, values] of Object.entries(options)) {
      for (const value of values) {
        const wholes = hostOf[section]?.(option, value) ?? [];
        assert.ok(
          wholes.some((whole) => configSchema.safeParse(whole).success),
          `${section}.${option}: ${JSON.stringify(value)}`,
        );
      }
    }
  }
});

test('init writes a schema with examples, and the configuration refers to it; an existing schema file stays', async (t) => {
  const cwd = temporaryFolder(t);
  assert.equal((await run(t, ['init'], { cwd })).code, 0);
  assert.match(readFileSync(join(cwd, 'svc.config.yaml'), 'utf8'), /^# yaml-language-server: \$schema=\.\/svc\.schema\.json\n/);
  const schema = JSON.parse(readFileSync(join(cwd, 'svc.schema.json'), 'utf8'));
  const [http] = schema.properties.event_handlers.additionalProperties.oneOf;
  assert.deepEqual(http.properties.target.examples, ['40017, 40022', [40017], '!40004']);
  const other = temporaryFolder(t);
  writeFileSync(join(other, 'svc.schema.json'), 'mine');
  assert.equal((await run(t, ['init'], { cwd: other })).code, 0);
  assert.equal(readFileSync(join(other, 'svc.schema.json'), 'utf8'), 'mine');
  assert.equal(existsSync(join(other, 'svc.config.yaml')), true);
});
