import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { messageId, signingKey } from '../../src/webhooks/signing.ts';
import { startReceiver } from '../support/receiver.ts';
import { startServer } from '../support/server.ts';

const secrets = Array.from({ length: 2 }, () => `whsec_${randomBytes(24).toString('base64')}`);

test('the public library accepts the signatures, for each of several secrets, on every attempt', async (t) => {
  const receiver = await startReceiver(t, { script: [{ status: 500 }] });
  const server = await startServer(t, {
    event_handlers: {
      crm: {
        type: 'http',
        target: '40017',
        url: receiver.url,
        signing_secret: secrets.join(', '),
        retry_count: 1,
        headers: { 'X-A': 'b' },
      },
    },
  });
  await server.put(encodeURI('/home/ü & a.txt'), 'a');
  const requests = await receiver.received(2);
  for (const { body, headers } of requests) {
    for (const secret of secrets) {
      const verified = new Webhook(secret).verify(body.toString('utf8'), headers) as { events: { uuid: string }[] };
      assert.equal(headers['webhook-id'], verified.events[0]?.uuid);
      assert.throws(() => new Webhook(secret).verify(`${body.toString('utf8')} `, headers));
    }
    assert.throws(() => new Webhook(`whsec_${randomBytes(24).toString('base64')}`).verify(body.toString('utf8'), headers));
  }
  assert.equal(requests[0]?.headers['webhook-id'], requests[1]?.headers['webhook-id'], 'each attempt is the same message');
});

test('without a secret there is no signature', async (t) => {
  const receiver = await startReceiver(t);
  const server = await startServer(t, { event_handlers: { crm: { type: 'http', target: '40017', url: receiver.url } } });
  await server.put('/home/a.txt', 'a');
  const [request] = await receiver.received(1);
  assert.equal(
    Object.keys(request?.headers ?? {}).some((name) => name.startsWith('webhook-')),
    false,
  );
});

test('a signing secret is base64, with or without whsec_; any other text is the key as it is', () => {
  const bytes = randomBytes(32);
  assert.deepEqual(signingKey(`whsec_${bytes.toString('base64')}`), bytes);
  assert.deepEqual(signingKey(bytes.toString('base64')), bytes);
  assert.deepEqual(signingKey('not base64!'), Buffer.from('not base64!'));
});

test('a batch has its own id, which is derived from its events', () => {
  assert.equal(messageId(['a']), 'a');
  assert.match(messageId(['a', 'b']), /^batch_/);
  assert.equal(messageId(['a', 'b']), messageId(['a', 'b']));
  assert.notEqual(messageId(['a', 'b']), messageId(['b', 'a']));
});
