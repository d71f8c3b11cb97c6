import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { httpOptions } from '../../src/http/options.ts';
import { sendChunks } from '../../src/http/reply/send-chunks.ts';
import { Exchange, type HttpService } from '../../src/http/request/exchange.ts';

type Options = NonNullable<Parameters<typeof sendChunks>[3]>;

async function startReplies(t: TestContext, chunks: (made: string[]) => AsyncGenerator<string>, options?: Options) {
  const made: string[] = [];
  const failed: unknown[] = [];
  const service = {
    options: httpOptions.parse({ type: 'http' }),
    baseHeaders: {},
    proxies: { header: '', isProxy: () => false },
    events: { grouped: () => undefined },
  } as unknown as HttpService;
  const server = createServer(async (incoming, outgoing) => {
    const exchange = new Exchange(
      () => service,
      incoming,
      outgoing,
      false,
      (_, error) => assert.fail(String(error)),
    );
    try {
      const reply = await sendChunks(exchange, { 'content-type': 'text/plain' }, chunks(made), options);
      if (!outgoing.headersSent) outgoing.writeHead(reply.status, Object.fromEntries(reply.headers)).end(await reply.text());
    } catch (error) {
      failed.push(error);
      if (!outgoing.headersSent) outgoing.writeHead(500).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const { port } = server.address() as { port: number };
  return { url: `http://127.0.0.1:${port}/`, made, failed };
}

function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

for (const coding of ['identity', 'gzip']) {
  test(`a reply that starts after at most one chunk sends its status before the next chunk is made: ${coding}`, async (t) => {
    for (const startsAfter of [0, 1] as const) {
      const next = gate();
      const { url, made } = await startReplies(
        t,
        async function* (list) {
          for (const chunk of ['a', '', 'b']) {
            if (list.length === startsAfter) await next.opened;
            list.push(chunk);
            yield chunk;
          }
        },
        { status: 207, startsAfter },
      );
      const reply = await fetch(url, { headers: { 'accept-encoding': coding } });
      assert.deepEqual([reply.status, made.length], [207, startsAfter]);
      next.open();
      assert.equal(await reply.text(), 'ab');
    }
  });
}

test('two chunks are made first: a body of one has a length, and an error in the second gives a 500', async (t) => {
  const one = await startReplies(t, async function* () {
    yield 'whole';
  });
  const whole = await fetch(one.url);
  assert.deepEqual([whole.status, whole.headers.get('content-length'), await whole.text()], [200, '5', 'whole']);
  const begun = gate();
  const faulty = (good: number) =>
    async function* () {
      for (let count = 0; count < good; count++) yield 'a';
      if (good === 2) await begun.opened;
      throw new Error('planned');
    };
  const early = await startReplies(t, faulty(1));
  assert.equal((await fetch(early.url)).status, 500);
  assert.equal(early.failed.length, 1);
  const late = await startReplies(t, faulty(2));
  const cut = await fetch(late.url);
  begun.open();
  assert.equal(cut.status, 200);
  await assert.rejects(cut.text(), 'the connection is cut');
});
