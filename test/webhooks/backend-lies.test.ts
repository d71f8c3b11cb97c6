import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { flood, lyingServer } from '../support/lying-replies.ts';
import { startServer } from '../support/server.ts';

/** Returns a valid reply with additional header lines. */
const ok = (head: string) => Buffer.from(`HTTP/1.1 200 OK\r\n${head}Content-Length: 0\r\n\r\n`, 'latin1');

/** Name, reply of the back-end, and the `X-Receipt` that the client gets. */
const replies: [string, Buffer | string | ((socket: Socket) => void), string | undefined][] = [
  ['a control character', ok('X-Receipt: a\x01b\r\n'), 'pending'],
  ['DEL', ok('X-Receipt: a\x7fb\r\n'), 'pending'],
  ['a folded header', ok('X-Receipt: a\r\n X-Evil: b\r\n'), 'pending'],
  ['a bare LF', ok('X-Receipt: a\nX-Evil: b\r\n'), 'pending'],
  ['a bare CR', ok('X-Receipt: a\rX-Evil: b\r\n'), 'pending'],
  ['letters of Latin-1', ok('X-Receipt: a\xe4\r\n'), 'a\xe4'],
  ['interim headers', `HTTP/1.1 103 Early Hints\r\nX-Receipt: early\r\n\r\n${ok('').toString()}`, undefined],
  ['trailers', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Receipt: trailer\r\n\r\n', undefined],
  ['another coding', 'HTTP/1.1 200 OK\r\nX-Receipt: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n', 'pending'],
  ['a body in gzip, which nobody unpacks', ok('X-Receipt: gz\r\nContent-Encoding: gzip\r\n'), 'gz'],
  ['a body that is cut short', (socket) => socket.end('HTTP/1.1 200 OK\r\nX-Receipt: x\r\nContent-Length: 9\r\n\r\nx'), 'pending'],
  ['two lengths', ok('X-Receipt: x\r\nContent-Length: 1\r\n'), 'pending'],
  ['a redirect', 'HTTP/1.1 307 Go\r\nX-Receipt: x\r\nLocation: /ok\r\nContent-Length: 0\r\n\r\n', 'pending'],
  ['headers without end', (socket) => flood(socket, 'HTTP/1.1 200 OK\r\nX-Receipt: x\r\n', `X: ${'a'.repeat(1000)}\r\n`), 'pending'],
  ['interim replies without end', (socket) => flood(socket, '', 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(1000)), 'pending'],
  [
    'a body without end, of which the beginning is kept',
    (socket) => flood(socket, ok('X-Receipt: x\r\n').toString().replace('Content-Length: 0\r\n', ''), 'x'.repeat(60_000)),
    'x',
  ],
  ['two replies at once', `${ok('X-Receipt: one\r\n')}${ok('X-Receipt: two\r\n')}`, 'one'],
  ['the reply after these two', ok('X-Receipt: next\r\n'), 'next'],
];

test('for any reply of the back-end, the client gets one whole reply without injected headers', {
  timeout: 60_000,
}, async (t) => {
  let reply: (typeof replies)[number][1] = '';
  const url = await lyingServer(t, (socket) => (typeof reply === 'function' ? reply(socket) : socket.write(reply)));
  const start = (timeout: number) =>
    startServer(t, {
      service: { api_backend_uuid: 'backend', api_passthrough_headers: 'X-Receipt', api_partial_success_headers: 'x-receipt: pending' },
      event_handlers: { backend: { ...options, url, timeout } },
    });
  const options = { type: 'http', target: '40017', data_filter: 'api_backend, yes', fail_after_errors: 0 };
  const [patient, hasty] = [await start(30), await start(0.4)];
  for (const [index, [what, bytes, receipt]] of replies.entries()) {
    reply = bytes;
    const server = what.endsWith('without end') ? hasty : patient;
    const { status, headers } = await server.put(`/home/${index}`, 'x');
    const [shown, evil, path] = ['x-receipt', 'x-evil', 'server-path'].map((name) => headers[name]);
    assert.deepEqual([status, shown, evil, path], [201, receipt, undefined, `/${index}`], what);
  }
  for (const server of [patient, hasty]) assert.equal((await server.eventIds()).includes(40003), false);
});
