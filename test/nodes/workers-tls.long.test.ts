import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { selfSigned } from '../support/certificates.ts';
import { run } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { until } from '../support/receiver.ts';
import { hasProgram } from '../support/requires.ts';
import { startSupervised } from '../support/supervised.ts';
import { visit } from '../support/tls-visit.ts';

const statuses = (replies: { status: number }[]) => [...new Set(replies.map(({ status }) => status))];

test('all nodes have the certificate and ticket keys, use a renewed certificate, and refuse a reload with invalid files', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  if (!hasProgram(t, 'openssl')) return;
  const [first, second] = [selfSigned(t), selfSigned(t)];
  const folder = join(first.certPath, '..');
  const service = (key = 'key.pem') => ({ type: 'https', tls_certificate_path: first.certPath, tls_key_path: join(folder, key) });
  const svc = await startSupervised(t, 2, { service: service() });
  const { session } = await visit(svc.url);
  const areResumed = async () => (await svc.everywhere(2, () => visit(svc.url, { session }))).every(({ isReused }) => isReused);
  assert.ok(await areResumed(), 'a ticket of one node is accepted by the other');
  const statusOf = (ca: string) => svc.everywhere(2, () => svc.get('/home/', { ca, headers: { accept: 'application/json' } }));
  assert.deepEqual(statuses(await statusOf(first.cert)), [200]);
  await svc.configure({ service: service('missing.pem') });
  assert.equal((await run(t, ['reload'], { cwd: svc.folder })).code, 1);
  assert.deepEqual(statuses(await statusOf(first.cert)), [200]);
  for (const [name, text] of [
    ['key.pem', second.key],
    ['cert.pem', second.cert],
  ] as const) {
    writeFileSync(join(folder, `${name}.new`), text);
    renameSync(join(folder, `${name}.new`), join(folder, name));
  }
  await until(
    'both nodes use the new certificate',
    () => svc.running.stderr().match(/the TLS files changed and are in use/g)?.length === 2,
  );
  assert.deepEqual(statuses(await statusOf(second.cert)), [200]);
  assert.ok(await areResumed(), 'tickets are accepted with the new certificate');
  await svc.configure({ service: { ...service(), idle_connection_timeout: 60 } });
  assert.equal((await run(t, ['reload'], { cwd: svc.folder })).code, 0);
  assert.ok(await areResumed(), 'tickets are accepted after a reload');
  await svc.kill(svc.nodes());
  await svc.ready(2);
  assert.ok(await areResumed(), 'nodes that start later accept tickets');
});

test('all nodes, even later ones, run as another account, with sockets that root bound and TLS files only root may read', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  if (process.getuid?.() !== 0) {
    if (process.env.CI === 'true') assert.fail('This test needs root, and under CI nothing may be skipped.');
    return t.skip('only root can become another account');
  }
  if (!hasProgram(t, 'openssl')) return;
  const nobody = Number(/^nobody:[^:]*:(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8'))?.[1]);
  const { cert, certPath } = selfSigned(t);
  const keyPath = join(certPath, '../key.pem');
  chmodSync(keyPath, 0o600);
  const server = { user: 'nobody', umask: '027' };
  const service = { type: 'https', tls_certificate_path: certPath, tls_key_path: keyPath };
  const startedMs = performance.now();
  const svc = await startSupervised(t, 2, { server, service, group: { home_folder_path: '${USER}' } }).catch((error) => error as Error);
  assert.ok(svc instanceof Client, String(svc));
  chmodSync(svc.folder, 0o755);
  const home = join(svc.folder, 'alice');
  mkdirSync(home, { recursive: true });
  chownSync(home, nobody, nobody);
  const check = async (name: string) => {
    for (const pid of [svc.running.child.pid as number, ...svc.nodes()]) {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      assert.match(status, new RegExp(`^Uid:\\s+${nobody}\\s+${nobody}\\s+${nobody}\\s+${nobody}$`, 'm'));
      assert.match(status, /^CapEff:\s+0+$/m);
      assert.equal(/^Groups:.*\b0\b/m.test(status), false, 'the group of root is dropped, too');
    }
    let number = 0;
    const stored = await svc.everywhere(2, () => svc.put(`/home/${name}${number++}`, 'x', { ca: cert }));
    assert.deepEqual(statuses(stored), [201]);
    const stats = statSync(join(home, `${name}0`));
    assert.deepEqual([stats.uid, stats.mode & 0o777], [nobody, 0o640]);
  };
  await check('a');
  const [victim = 0] = svc.nodes();
  await svc.kill([victim]);
  await svc.ready(2).catch((error) => assert.fail(`${error}\n${svc.running.stderr()}`));
  await check('b');
  await until('six seconds have passed', () => performance.now() - startedMs > 6000);
  await check('c');
  assert.equal(await svc.stop(), 0, 'the other account can finish the work in the data folder');
});
