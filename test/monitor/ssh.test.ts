import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openFlags, packetTypes } from '../../src/ssh/sftp/packets/packets.ts';
import { Client } from '../support/client.ts';
import { until } from '../support/receiver.ts';
import { loginSftp } from '../support/sftp-client.ts';
import { startSsh, tryLogins } from '../support/ssh.ts';

test('SSH connections, handshakes, logins, requests, transfers and bytes are counted separately from those of HTTP', async (t) => {
  const monitored = await startSsh(t, {}, { services: { eyes: { type: 'monitor', port: 0 } } });
  const monitor = new Client(monitored.service.listening().find(({ uuid }) => uuid === 'eyes')?.url ?? '');
  const figures = async () => {
    const { text } = await monitor.get('/metrics', { user: null });
    const samples = text.matchAll(/^(svc_(?:ssh|sftp|http)_\w+)\{([^}]*)\} (\S+)$/gm);
    return new Map([...samples].map(([, name, labels, value]) => [`${name}{${labels}}`, Number(value)]));
  };
  const { sftp, client } = await loginSftp(t, monitored.sshPort);
  await sftp.put('a', 'x'.repeat(5000));
  const handle = await sftp.open('a', openFlags.read);
  await sftp.read(handle, 0, 5000);
  await sftp.read(handle, 5000, 1);
  await sftp.close(handle);
  await sftp.stat('missing');
  await sftp.status(packetTypes.extended, (fields) => fields.text('made-up@example.com'));
  await tryLogins(t, monitored.sshPort, [{ type: 'password', username: 'alice' }], {
    algorithms: { kex: ['diffie-hellman-group14-sha1'] },
  });
  const found = await figures();
  const expected: Record<string, number> = {
    'svc_ssh_connections{service="sftp"}': 1,
    'svc_ssh_handshakes_total{service="sftp",outcome="done"}': 1,
    'svc_ssh_handshakes_total{service="sftp",outcome="failed"}': 1,
    'svc_ssh_logins_total{service="sftp"}': 1,
    'svc_sftp_requests_total{service="sftp",request="open",status="0"}': 2,
    'svc_sftp_requests_total{service="sftp",request="write",status="0"}': 1,
    'svc_sftp_requests_total{service="sftp",request="read",status="0"}': 1,
    'svc_sftp_requests_total{service="sftp",request="read",status="1"}': 1,
    'svc_sftp_requests_total{service="sftp",request="stat",status="2"}': 1,
    'svc_sftp_requests_total{service="sftp",request="unknown extension",status="8"}': 1,
    'svc_sftp_transfers_total{service="sftp",direction="upload",outcome="done"}': 1,
    'svc_sftp_transfers_total{service="sftp",direction="download",outcome="done"}': 1,
    'svc_sftp_transferred_bytes_total{service="sftp",direction="upload"}': 5000,
    'svc_sftp_transferred_bytes_total{service="sftp",direction="download"}': 5000,
  };
  assert.deepEqual(Object.fromEntries(Object.keys(expected).map((key) => [key, found.get(key)])), expected);
  for (const way of ['received', 'sent']) assert.ok((found.get(`svc_ssh_${way}_bytes_total{service="sftp"}`) ?? 0) > 5000, way);
  assert.deepEqual(
    [...found.keys()].filter((key) => key.startsWith('svc_http') && key.includes('"sftp"')),
    [],
  );
  client.end();
  await until('the connection is gone', async () => (await figures()).get('svc_ssh_connections{service="sftp"}') === 0);
});
