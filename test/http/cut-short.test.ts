import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { BodyWriter, endReply, isCutShort } from '../../src/http/reply/body-writer.ts';
import type { Exchange } from '../../src/http/request/exchange.ts';

/** More bytes than the kernel keeps for a client that reads nothing. */
const body = Buffer.alloc(32 * 1024 * 1024);

/** Ways to end a reply. @returns whether the reply is reported as received whole */
const ways: Record<string, (exchange: Exchange, body: Buffer) => Promise<boolean>> = {
  endReply,
  'BodyWriter.end': (exchange, body) => isKept(new BodyWriter(exchange).end(body)),
  'BodyWriter.write, then end': (exchange, body) => {
    const writer = new BodyWriter(exchange);
    return isKept(writer.write(body).then(() => writer.end()));
  },
  'the end of the response': ({ incoming, outgoing }, body) => {
    outgoing.end(body);
    return new Promise((resolve) => outgoing.on('close', () => resolve(!isCutShort({ incoming, outgoing } as Exchange))));
  },
};

function isKept(ended: Promise<void>): Promise<boolean> {
  return ended.then(
    () => true,
    () => false,
  );
}

/**
 * Lets a client request a body.
 *
 * @param leaves whether the client leaves, having read nothing, while the kernel cannot take any more of the body
 * @returns the result of the way to end the reply
 */
async function askFor(t: TestContext, way: (typeof ways)[string], request: string, leaves: boolean): Promise<boolean> {
  let told: Promise<boolean> | undefined;
  const server = createServer((incoming, outgoing) => {
    const exchange = { incoming, outgoing, catching: (action: unknown) => action } as unknown as Exchange;
    told = way(exchange, body);
    if (leaves) setImmediate(() => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.write(request);
  if (leaves) client.pause();
  else {
    let received = 0;
    client.on('data', (chunk) => {
      received += chunk.length;
      if (received > body.length) client.end();
    });
  }
  await new Promise((resolve) => client.on('close', resolve));
  assert.ok(told, 'the server had the request');
  return told;
}

for (const [what, way] of Object.entries(ways))
  test(`if the client leaves before the kernel took the whole reply, the reply does not count as sent: ${what}`, async (t) => {
    const [kept, closed] = ['GET / HTTP/1.1\r\nHost: x\r\n\r\n', 'GET / HTTP/1.0\r\n\r\n'];
    for (const request of [kept, closed]) {
      assert.equal(await askFor(t, way, request, true), false, request);
      assert.equal(await askFor(t, way, request, false), true, request);
    }
  });
