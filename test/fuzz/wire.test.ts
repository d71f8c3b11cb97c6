import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { damaged, fuzz } from '../support/fuzz.ts';
import { testBasic } from '../support/secrets.ts';
import { startServer } from '../support/server.ts';

const idleSeconds = 1;

/** If a connection is still open this long after its last byte, the server failed to close it when the idle time was over. */
const longestMs = 20_000;

const connectionsAtOnce = 50;

const basic = `Authorization: ${testBasic}`;
const requests = [
  `GET /home/ HTTP/1.1\r\nHost: x\r\n${basic}\r\nAccept: application/json\r\n\r\n`,
  `PUT /home/a HTTP/1.1\r\nHost: x\r\n${basic}\r\nContent-Length: 5\r\n\r\nhello`,
  `PUT /home/a HTTP/1.1\r\nHost: x\r\n${basic}\r\nTransfer-Encoding: chunked\r\n\r\n5;x=1\r\nhello\r\n0\r\nTrailer: x\r\n\r\n`,
  `POST /home/ HTTP/1.1\r\nHost: x\r\n${basic}\r\nContent-Type: application/json\r\nContent-Length: 61\r\n\r\n{"commands":[{"command":"create-folder","target":"made"}]}   `,
  `POST /home/ HTTP/1.1\r\nHost: x\r\n${basic}\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 92\r\n\r\n--b\r\nContent-Disposition: form-data; name="action"\r\n\r\nupload-file\r\n--b--\r\n                  `,
  `PROPFIND /home/ HTTP/1.1\r\nHost: x\r\n${basic}\r\nDepth: 1\r\nContent-Length: 65\r\n\r\n<propfind xmlns="DAV:"><prop><getetag/><x/></prop></propfind>    `,
  `MOVE /home/a HTTP/1.1\r\nHost: x\r\n${basic}\r\nDestination: http://x/home/b\r\nOverwrite: T\r\nIf: (["x"] Not <urn:1>)\r\n\r\n`,
  `GET /home/a HTTP/1.1\r\nHost: x\r\n${basic}\r\nRange: bytes=0-1, 3-\r\nIf-Range: "x"\r\nWant-Repr-Digest: sha-256=1\r\n\r\n`,
  `POST /__svc__/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 29\r\n\r\nusername=alice&password=wrong`,
  `OPTIONS * HTTP/1.1\r\nHost: x\r\nCookie: SVC_HTTP_SESSION=abc; x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nExpect: 100-continue\r\n\r\n`,
  `LOCK /home/a HTTP/1.1\r\nHost: x\r\n${basic}\r\nTimeout: Second-5\r\n\r\n`,
];

/** Time in milliseconds without received data, after which a client that leaves disconnects. */
const patienceMs = 700;

/** Sends bytes in pieces and reads until the client leaves, or else until the server ends the connection. */
function exchange(port: number, pieces: readonly Buffer[], leaves: boolean): Promise<{ text: string; tookMs: number }> {
  return new Promise((resolve) => {
    const startedMs = performance.now();
    let text = '';
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => {
      for (const piece of pieces) socket.write(piece);
    });
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    socket.on('error', () => {});
    socket.on('end', () => socket.end());
    socket.setTimeout(leaves ? patienceMs : longestMs, () => (leaves ? socket.end() : socket.destroy()));
    socket.on('close', () => resolve({ text, tookMs: performance.now() - startedMs }));
  });
}

test('damaged bytes on the wire cause no 500 and no crash, and no connection stays open beyond its time', async (t) => {
  const server = await startServer(t, { service: { idle_connection_timeout: idleSeconds, webdav_compatibility: true } });
  writeFileSync(join(server.home, 'a'), 'hello, world');
  const seen = new Map<string, number>();
  const batch = fc.array(
    fc.record({
      texts: fc.array(damaged(requests), { minLength: 1, maxLength: 3 }),
      cut: fc.double({ min: 0, max: 1, noNaN: true }),
      // Most clients leave by themselves, because waiting for the idle time is slow.
      leaves: fc.nat(9).map((number) => number > 0),
    }),
    { minLength: connectionsAtOnce, maxLength: connectionsAtOnce },
  );
  await fuzz(
    t,
    batch,
    async (cases) => {
      const replies = await Promise.all(
        cases.map(({ texts, cut, leaves }) => {
          const bytes = Buffer.from(texts.join(''), 'utf8');
          const at = Math.floor(cut * bytes.length);
          return exchange(server.port, [bytes.subarray(0, at), bytes.subarray(at)], leaves);
        }),
      );
      for (const { text, tookMs } of replies) {
        for (const [, status = ''] of text.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)) seen.set(status, (seen.get(status) ?? 0) + 1);
        // A damaged version can be an unsupported one: 505.
        assert.doesNotMatch(text, /^HTTP\/1\.1 50[0-46]/m);
        assert.ok(tookMs < longestMs, `open after ${tookMs} ms`);
      }
    },
    { share: 0.015, each: connectionsAtOnce },
  );
  const statuses = [...seen.keys()].sort();
  for (const expected of [/^2/, /^400$/])
    assert.ok(
      statuses.some((status) => expected.test(status)),
      `${expected} of ${statuses}`,
    );
  assert.ok(statuses.length >= 4, `damage reached more than the parser: ${statuses}`);
  assert.equal((await server.put('/home/after', 'x')).status, 201, 'the server continues');
  assert.equal((await server.eventIds()).includes(40003), false, 'no internal error');
});
