import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { run } from '../support/child.ts';
import { startReceiver } from '../support/receiver.ts';
import { configure, project, upload } from '../support/webhook-project.ts';

const marks = ['marker-access', 'marker-hub', 'marker-token', 'marker-inner', 'marker-listed'];

const secrets = 'headers: ["X-Access: marker-access", "X-Hub: marker-hub"]';
const extra = (note: string) =>
  `extra_data: {note: ${note}, api_token: marker-token, deep: {client_secret: marker-inner, keys: [marker-listed, 5]}}`;

function handlers(url: string, note: string): string {
  const handler = (uuid: string, more: string) =>
    `${uuid}: {type: http, target: 40017, url: "${url}/${uuid}", fail_after_errors: 0, ${secrets}, ${extra(note)}${more}}`;
  return [handler('json', ''), handler('soap', ', http_content_type: soap'), handler('get', ', request_method: get')].join(', ');
}

function assertNoMark(text: string, where: string): void {
  for (const mark of marks) assert.equal(text.includes(mark), false, `${where} shows ${mark}:\n${text}`);
}

function recorded(cwd: string): string {
  const folder = join(cwd, 'data/deliveries');
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('');
}

async function sentTo(t: TestContext, note = 'hello') {
  const receiver = await startReceiver(t);
  const cwd = project(t, handlers(receiver.url, note));
  await upload(t, cwd, 'a');
  await receiver.received(3);
  const requests = () =>
    receiver.requests.map(({ url, headers, body }) => `${url} ${headers['x-access']} ${headers['x-hub']}\n${body.toString('utf8')}`);
  return { receiver, cwd, requests };
}

test('receivers get the secrets of a handler; records, dry runs and differences do not contain them', async (t) => {
  const { receiver, cwd, requests } = await sentTo(t);
  for (const request of requests()) for (const mark of marks) assert.ok(request.includes(mark), `${mark} in ${request}`);
  const kept = recorded(cwd);
  for (const uuid of ['json', 'soap', 'get']) assert.match(kept, new RegExp(`"handler":"${uuid}".*\\*\\*\\*`), uuid);
  assertNoMark(kept, 'the record');
  for (const args of [['--dry-run'], ['--dry-run', '--json'], ['--dry-run', '--exact'], ['--diff', '--json']]) {
    const { stdout, stderr } = await run(t, ['webhook-replay', ...args], { cwd });
    assertNoMark(stdout + stderr, args.join(' '));
    if (args[0] === '--dry-run') assert.match(stdout, /x-access"?: ?"?\*\*\*/);
    else assert.equal(stdout, '', 'nothing differs');
  }
  configure(cwd, handlers(receiver.url, 'bye'));
  const diff = await run(t, ['webhook-replay', '--diff'], { cwd });
  assert.match(diff.stdout, /"note": "bye"/);
  assertNoMark(diff.stdout, '--diff');
});

test('--exact sends recorded requests with their secrets, and reports where these cannot be inserted', async (t) => {
  const { receiver, cwd, requests } = await sentTo(t);
  const sent = requests().sort();
  const same = await run(t, ['webhook-replay', '--exact'], { cwd });
  assert.equal(same.code, 0, same.stdout + same.stderr);
  assert.deepEqual(requests().slice(3).sort(), sent, 'the requests are repeated byte for byte');
  configure(cwd, handlers(receiver.url, 'bye'));
  const changed = await run(t, ['webhook-replay', '--exact'], { cwd });
  assert.deepEqual(
    requests().slice(6).sort(),
    sent.filter((request) => !request.startsWith('/hook/soap')),
    'secrets of JSON bodies and queries are inserted by name',
  );
  assert.match(changed.stderr, /the secrets of its body are not kept; send it without --exact/);
  assertNoMark(recorded(cwd), 'the record');
});
