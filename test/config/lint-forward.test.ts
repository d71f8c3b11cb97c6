import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { run } from '../support/child.ts';
import { s3Keys, startStorage } from '../support/s3.ts';
import { temporaryFolder } from '../support/temp.ts';

const services = { web: { type: 'http', port: 0 } };

async function findings(t: TestContext, out: object, more: { args?: string[]; web?: object } = {}): Promise<string[]> {
  const cwd = temporaryFolder(t);
  const config = { services: { web: { ...services.web, ...more.web } }, event_handlers: { out: { type: 'forward', ...out } } };
  writeFileSync(join(cwd, 'svc.config.yaml'), JSON.stringify(config));
  writeFileSync(join(cwd, 'known_hosts'), 'example.com ssh-ed25519 AAAA\n');
  const { stdout } = await run(t, ['validate', '--json', ...(more.args ?? [])], { cwd });
  const all = (JSON.parse(stdout) as { findings: { code: string; path: string; message: string }[] }).findings;
  assert.ok(all.every(({ message }) => !message.includes(s3Keys.secretAccessKey)));
  return all
    .filter(({ path, code }) => /event_handlers|backend/.test(path) && code !== 'secret-readable')
    .map(({ code, path }) => `${code} ${path}`);
}

const url = 'https://host.example/{path}';

test('svc validate reports forwarding targets that mix up files, and reports options without effect and unreadable files', async (t) => {
  assert.deepEqual(await findings(t, { url }), []);
  assert.deepEqual(await findings(t, { url: 'https://host.example/{account.name}' }), ['forward-same-name event_handlers.out.url']);
  assert.deepEqual(await findings(t, { url: 'http://host.example/{path}' }), ['plain-http event_handlers.out.url']);
  assert.deepEqual(await findings(t, { url, target: 40012 }), ['handler-never event_handlers.out.target']);
  assert.deepEqual(await findings(t, { url, time_zone: 'Europe/Berlin' }), ['no-effect event_handlers.out.time_zone']);
  const sftp = { url: 'sftp://svc@host.example/{path}', key_path: 'none', known_hosts_path: 'known_hosts' };
  assert.deepEqual(await findings(t, sftp), ['file-unreadable event_handlers.out.key_path']);
  assert.deepEqual(await findings(t, { url }, { web: { api_backend_uuid: 'out' } }), ['backend-type services.web.api_backend_uuid']);
});

test('svc validate --online contacts each target: it accepts a bucket that answers, and reports a host that does not', async (t) => {
  const storage = await startStorage(t);
  const s3 = { url: 's3://bucket/{path}', access_key_id: s3Keys.accessKeyId, secret_access_key: s3Keys.secretAccessKey };
  const online = { args: ['--online'] };
  assert.deepEqual(await findings(t, { ...s3, endpoint: storage.endpoint }, online), []);
  assert.deepEqual(storage.asked, ['HEAD /bucket']);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  assert.deepEqual(await findings(t, { url: `http://127.0.0.1:${port}/{path}` }, online), ['online event_handlers.out.url']);
});
