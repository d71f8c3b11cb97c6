import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { listen, listenFault } from '../../src/lib/listen.ts';

test('an error of listening says what to do', async () => {
  const refused = Object.assign(new Error('listen EACCES: permission denied 127.0.0.1:81'), { code: 'EACCES' });
  assert.match(
    listenFault(refused),
    /^permission denied; for a port below 1024, give svc CAP_NET_BIND_SERVICE, .* root with server\.user, .* another port$/,
  );
  const elsewhere = listen(createServer() as Parameters<typeof listen>[0], { type: 'http', address: '2001:db8::1', port: 8080 }, () => {});
  await assert.rejects(elsewhere, {
    code: 'unavailable',
    message: 'http service cannot listen on [2001:db8::1]:8080: no network interface of this machine has the address.',
  });
});
