import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { run } from '../support/child.ts';
import { startServer, testConfig } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

const path = '/.well-known/security.txt';

test('security.txt shows the contact to everybody, expires within a year, and follows a reload', async (t) => {
  const server = await startServer(t, { server: { security_contact: 'security@example.org' } });
  const anonymous = { user: null };
  const reply = await server.get(path, anonymous);
  assert.equal(reply.status, 200);
  assert.equal(reply.headers['content-type'], 'text/plain; charset=utf-8');
  const fields = Object.fromEntries(
    reply.text
      .trim()
      .split('\n')
      .map((line) => line.split(': ') as [string, string]),
  );
  assert.deepEqual(Object.keys(fields), ['Contact', 'Expires', 'Preferred-Languages']);
  assert.equal(fields.Contact, 'mailto:security@example.org');
  const days = (Date.parse(String(fields.Expires)) - Date.now()) / 86_400_000;
  assert.ok(days > 60 && days < 365, `${days} days`);
  assert.equal((await server.send('HEAD', path, anonymous)).headers['content-length'], String(reply.text.length));
  const refused = await server.send('PUT', path, { ...anonymous, body: 'Contact: mailto:attacker@example.net' });
  assert.deepEqual([refused.status, refused.headers.allow], [405, 'GET, HEAD']);
  assert.equal((await server.get('/.well-known/', anonymous)).status, 404);
  await server.service.reload(await testConfig(server.folder, { server: { security_contact: 'https://example.org/report' } }));
  assert.match((await server.get(path, anonymous)).text, /^Contact: https:\/\/example\.org\/report\n/);
  await server.service.reload(await testConfig(server.folder));
  assert.equal((await server.get(path, anonymous)).status, 404, 'without a contact there is no such file');
});

test('--version --verbose shows platform and contact; a contact that is not an e-mail address or an allowed URI is refused', async (t) => {
  const folder = temporaryFolder(t);
  const verbose = async () => (await run(t, ['--version', '--verbose'], { cwd: folder })).stdout.split('\n');
  const [version, platform, contact] = await verbose();
  assert.match(String(version), /^svc \d+\.\d+\.\d+$/);
  assert.match(String(platform), /^Node\.js [\d.]+, OpenSSL \S+, \w+ \w+$/);
  assert.equal(contact, 'Report vulnerabilities to: not set (server.security_contact)');
  const write = (text: string) => writeFileSync(join(folder, 'svc.config.json'), JSON.stringify({ server: { security_contact: text } }));
  write('security@example.org');
  assert.equal((await verbose())[2], 'Report vulnerabilities to: mailto:security@example.org');
  for (const text of [
    'security@example.org\nContact: mailto:x@example.net',
    'http://example.org/',
    'javascript:alert(1)',
    'nobody',
    'a b@example.org',
  ]) {
    write(text);
    const { code, stderr } = await run(t, ['validate'], { cwd: folder });
    assert.equal(code, 1, text);
    assert.match(stderr, /security_contact: must be an e-mail address, or a URI of mailto:, https: or tel:/);
    assert.match(String((await verbose())[2]), /^Report vulnerabilities to: not known: .* is not valid, see svc validate$/);
  }
});
