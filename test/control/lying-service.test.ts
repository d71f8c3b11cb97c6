import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { control } from '../support/control.ts';
import { flood } from '../support/lying-replies.ts';
import { temporaryFolder } from '../support/temp.ts';

const ok = 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n';

/** Name, reply of a process that listens at the control socket in place of the service, and pattern of the command's output. */
const lies: [string, string | ((socket: Socket) => void), RegExp][] = [
  ['no HTTP', 'nonsense\r\n\r\n', /No service is running/],
  ['no JSON', `${ok}nonsense\n`, /No service is running/],
  ['null', `${ok}null\n`, /No service is running/],
  ['a redirect', 'HTTP/1.1 302 Go\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n', /No service is running/],
  ['an upgrade', 'HTTP/1.1 101 Up\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n', /No service is running/],
  ['headers without end', (socket) => flood(socket, 'HTTP/1.1 200 OK\r\n', `X: ${'a'.repeat(1000)}\r\n`), /No service is running/],
  ['an error with escapes', 'HTTP/1.1 400 No\r\nConnection: close\r\n\r\n{"error":"\\u001b[2Jx\\u202e"}\n', /\\u001b\[2Jx/],
  ['items with escapes', `${ok}{"id":"\\u001b[2J","account":"\\u202ea\\nb","address":"x","__proto__":{"id":"y"}}\n`, /./],
];

test('if another process answers for the service, a command neither crashes nor passes escape sequences to the terminal', async (t) => {
  for (const [what, reply, pattern] of lies) {
    const folder = temporaryFolder(t);
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => (typeof reply === 'string' ? socket.end(reply) : reply(socket)));
    });
    await new Promise<void>((resolve) => server.listen(join(folder, 'control.sock'), resolve));
    t.after(() => server.close());
    for (const json of [[], ['--json']]) {
      const { stdout, stderr } = await control(t, folder, 'sessions', 'list', ...json);
      const said = stdout + stderr;
      assert.match(said, pattern, what);
      assert.doesNotMatch(said, /[\u001b\u202e]|this should not happen/, what);
    }
  }
});
