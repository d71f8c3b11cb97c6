import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { flood } from '../support/lying-replies.ts';
import { rawEndpoint } from '../support/raw-endpoint.ts';
import { startServer, type TestServer } from '../support/server.ts';

const withLength = (status: string, body: string) => `HTTP/1.1 ${status}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';

const refusedAs = (server: TestServer) => server.get('/home/', { user: 'zoe:marker-word', headers: { accept: 'application/json' } });

async function startWith(t: TestContext, url: string, timeout = 30): Promise<TestServer> {
  return startServer(t, { authentications: { remote: { type: 'http', url, timeout } }, service: { public_error: true } });
}

const told = async (server: TestServer) => String((await server.events()).findLast(({ id }) => id === '20142')?.data.details);

/** Replies that never end: name, beginning, repeated part, expected reason. */
const floods: [string, string, string, RegExp][] = [
  ['interim replies', '', 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(1000), /within 0.4 s/],
  ['early hints', '', `HTTP/1.1 103 Early Hints\r\nLink: <${'a'.repeat(4000)}>\r\n\r\n`, /within 0.4 s/],
  ['headers', 'HTTP/1.1 204 Fine\r\n', `X: ${'a'.repeat(1000)}\r\n`, /HPE_HEADER_OVERFLOW/],
  ['a status line', 'HTTP/1.1 200 ', 'a'.repeat(60_000), /HPE_HEADER_OVERFLOW/],
  ['a chunk extension', `${chunked}1;`, 'a'.repeat(60_000), /invalid reply/],
  ['trailers', `${chunked}0\r\n`, `X: ${'a'.repeat(1000)}\r\n`, /invalid reply/],
  ['chunks of one byte', chunked, '1\r\n \r\n'.repeat(10_000), /within 0.4 s|larger than/],
];

/** Replies that violate HTTP, or that do not count as an acceptance: name, reply, expected reason. */
const lies: [string, string, RegExp][] = [
  ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 14\r\n\r\n{"account":{}}', /not valid HTTP/],
  ['a length and chunks', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', /not valid HTTP/],
  ['line feeds alone', 'HTTP/1.1 204 Fine\n\n', /not valid HTTP/],
  ['a CR in the reason', 'HTTP/1.1 403 a\rSet-Cookie: x=y\r\nContent-Length: 0\r\n\r\n', /not valid HTTP/],
  ['a status of five digits', 'HTTP/1.1 20400 Fine\r\n\r\n', /not valid HTTP/],
  ['another protocol', 'ICY 204 OK\r\n\r\n', /not valid HTTP/],
  ['a change of the protocol', 'HTTP/1.1 101 Up\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n', /status 101/],
  ['a redirect', 'HTTP/1.1 307 Go\r\nLocation: /ok\r\nContent-Length: 0\r\n\r\n', /status 307/],
  ['205', 'HTTP/1.1 205 Reset\r\nContent-Length: 0\r\n\r\n', /status 205/],
  ['an account in __proto__', withLength('200 OK', '{"__proto__":{"account":{"home_folder_path":"/etc"}}}'), /"__proto__" is not known/],
  ['__proto__ in the account', withLength('200 OK', '{"account":{"__proto__":{"home_folder_path":"/etc"}}}'), /"account.__proto__" is not/],
  ['constructor in the account', withLength('200 OK', '{"account":{"constructor":{"prototype":{"x":1}}}}'), /"account.constructor" is not/],
  ['__proto__ as the group', withLength('200 OK', '{"account":{"group":"__proto__"}}'), /there is no group/],
  ['a number too large for JavaScript', withLength('200 OK', '{"account":1e999}'), /expected object/],
  ['an identity of two lines', withLength('200 OK', '{"account":{"uuid":"a\\nb"}}'), /account.uuid: must be valid Unicode/],
  ['an identity with a NUL', withLength('200 OK', '{"account":{"uuid":"a\\u0000"}}'), /account.uuid: must be valid Unicode/],
  ['half a character', withLength('200 OK', '{"account":{"uuid":"\\ud800"}}'), /account.uuid: must be valid Unicode/],
  ['a header in an address', withLength('200 OK', '{"account":{"email":"a@b.c\\r\\nBcc: x@y.z"}}'), /account.email: must be valid/],
];

test('an endless or lying reply logs nobody in, and the event has the reason; a 100 before a valid reply is allowed', {
  timeout: 60_000,
}, async (t) => {
  let answer: (socket: Socket) => void = () => {};
  const url = await rawEndpoint(t, (socket) => answer(socket));
  const [server, hasty] = [await startWith(t, url), await startWith(t, url, 0.4)];
  const expectRefusal = async (server: TestServer, what: string, pattern: RegExp) => {
    const reply = await refusedAs(server);
    const errors = [{ message: 'The name or the password is not correct.', title: 'Unauthorized' }];
    assert.deepEqual([reply.status, reply.json()], [401, { errors }], what);
    assert.match(await told(server), pattern, what);
  };
  for (const [what, reply, pattern] of lies) {
    answer = (socket) => socket.end(reply);
    await expectRefusal(server, what, pattern);
  }
  for (const [what, beginning, piece, pattern] of floods) {
    answer = (socket) => flood(socket, beginning, piece);
    await expectRefusal(hasty, what, pattern);
  }
  answer = (socket) => socket.end('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 Fine\r\n\r\n');
  assert.equal((await refusedAs(server)).status, 200, 'a 100 before a valid reply is allowed');
});

test('a reply that arrives before its request on a reused connection logs nobody in', async (t) => {
  const no = 'HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n';
  for (const early of ['HTTP/1.1 204 Fine\r\n\r\n', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'])
    for (const isAtOnce of [true, false]) {
      let sent = 0;
      const endpoint = createServer((socket) => {
        socket.on('error', () => {});
        socket.on('data', () => {
          socket.write(isAtOnce ? no + early : no);
          if (!isAtOnce) setImmediate(() => setImmediate(() => socket.write(early, () => sent++)));
          else sent++;
        });
      });
      await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
      t.after(() => endpoint.close());
      const server = await startWith(t, `http://127.0.0.1:${(endpoint.address() as { port: number }).port}/auth`);
      for (let login = 0; login < 5; login++) {
        assert.equal((await refusedAs(server)).status, 401);
        while (sent <= login) await new Promise((resolve) => setImmediate(resolve));
      }
    }
});
