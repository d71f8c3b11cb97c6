import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { start } from '../support/child.ts';
import { asOperator, asViewer, ConsoleClient, consoleService } from '../support/console.ts';
import { assertNoSecret, configure, secrets } from '../support/marked-secrets.ts';
import { startReceiver } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temp.ts';

interface Section {
  [name: string]: Section;
}

async function startWithSecrets(t: TestContext) {
  const folder = temporaryFolder(t);
  const [callout, hook] = [await startReceiver(t, { otherwise: { status: 401, body: 'no' } }), await startReceiver(t)];
  await configure(folder, callout.url, hook.url);
  const file = join(folder, 'svc.config.json');
  const config = JSON.parse(readFileSync(file, 'utf8')) as Section;
  (config.services as Section).console = (await consoleService()) as unknown as Section;
  const write = (text: string) => writeFileSync(file, text);
  write(JSON.stringify(config));
  const server = start(t, ['serve'], { cwd: folder, env: { MARKED: secrets.environment } });
  const [, url = ''] = await server.line(/console listening on (\S+)\/\n/);
  return { folder, config, write, server, console: new ConsoleClient(url) };
}

test('the current configuration, the findings of its file and the changes of a reload are shown without a secret', async (t) => {
  const { folder, config, write, server, console } = await startWithSecrets(t);
  const contract = await console.contract();
  const texts: string[] = [];
  const get = async (path: string, status = 200) => {
    const reply = await console.get(`/api/configuration${path}`, asViewer);
    contract.check('GET', `/api/configuration${path}`, reply);
    assert.equal(reply.status, status, reply.text);
    texts.push(reply.text);
    return reply.json<Section>();
  };
  const reload = async (credentials: object = asOperator) => {
    const reply = await console.send('POST', '/api/configuration/reload', credentials);
    contract.check('POST', '/api/configuration/reload', reply);
    texts.push(reply.text);
    return reply;
  };
  const shown = await get('');
  assert.equal(shown.file, join(folder, 'svc.config.json') as unknown);
  assert.equal(shown.configuration?.event_handlers?.crm?.password, '***' as unknown);
  assert.equal(shown.configuration?.services?.console?.administrators?.olga?.role, 'operator' as unknown);
  // `set` has only the values that the file sets, without default values, and masks secrets, too.
  assert.deepEqual([shown.set?.event_handlers?.crm?.password, shown.set?.event_handlers?.crm?.retry_backoff], ['***', undefined]);
  assert.equal(shown.configuration?.event_handlers?.crm?.retry_backoff, 'linear' as unknown);
  assert.deepEqual(
    Object.keys(shown.set ?? {}),
    Object.keys(shown.configuration ?? {}).filter((name) => Object.hasOwn(config, name)),
  );
  assert.equal((await get('/findings')).valid, true as unknown);
  assert.deepEqual((await get('/changes')).changes, []);

  const changed = structuredClone(config);
  Object.assign(changed.event_handlers?.crm as object, {
    password: secrets.nextPassword,
    timeout: 7,
    url: 'http://127.0.0.1:9/${env:MARKED}',
  });
  write(JSON.stringify(changed));
  const { would_reload, changes } = (await get('/changes')) as unknown as { would_reload: boolean; changes: { path: string }[] };
  assert.deepEqual(
    [would_reload, changes.map(({ path }) => path)],
    [true, ['event_handlers.crm.url', 'event_handlers.crm.password', 'event_handlers.crm.timeout']],
  );
  const viewers = await reload(asViewer);
  assert.equal(viewers.status, 403);
  assert.equal((await get('')).configuration?.event_handlers?.crm?.timeout, 120 as unknown, 'nothing was reloaded');
  const report = (await reload()).json<{ reloaded: boolean; changes: string[] }>();
  assert.deepEqual([report.reloaded, report.changes], [true, changes.map(({ path }) => path)]);
  assert.equal((await get('')).configuration?.event_handlers?.crm?.timeout, 7 as unknown);

  // If a restart is needed, `changes` and the reload give the same reason. If the file has errors, `findings` and the reload begin with the
  // same finding.
  write(JSON.stringify({ ...changed, server: { ...changed.server, uuid: 'other' } }));
  const restart = await get('/changes');
  assert.match(String(restart.reason), /need a restart/);
  assert.equal((await reload()).json().reason, restart.reason);
  for (const [name, text] of [
    ['a time-out that is no number', JSON.stringify({ ...changed, server: { ...changed.server, shutdown_timeout: '${env:MARKED}' } })],
    ['a broken file', `{"accounts": {"a": {"password": "${secrets.password}"`],
    [
      'values of wrong types',
      JSON.stringify(changed)
        .replace(`"${secrets.nextPassword}"`, `["${secrets.nextPassword}"]`)
        .replace('"timeout":7', `"timeout":"${secrets.hookPassword}"`),
    ],
  ] as const) {
    write(text);
    const findings = (await get('/findings')) as unknown as { valid: boolean; findings: { code: string }[] };
    assert.equal(findings.valid, false, name);
    assert.equal((await get('/changes')).would_reload, false as unknown, name);
    const refused = (await reload()).json<{ reloaded: boolean; findings: { code: string }[] }>();
    assert.deepEqual([refused.reloaded, refused.findings[0]?.code], [false, findings.findings[0]?.code], name);
  }
  const journal = readFileSync(join(folder, 'data/journal/events-00000001.ndjson'), 'utf8');
  texts.push(journal, server.stderr());
  assert.match(journal, /"action":"configuration-reload"/);
  for (const [index, text] of texts.entries()) assertNoSecret(text, `text ${index}`);
  assert.equal(texts.join('').includes('$scrypt$'), false);
});
