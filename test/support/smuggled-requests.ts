import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { testBasic } from './secrets.ts';
import type { TestServer } from './server.ts';

export const basic = `Authorization: ${testBasic}`;

/** The hidden request, which the service must never execute. A front end would treat it as the body of another request. */
const hidden = `PUT /home/smuggled HTTP/1.1\r\nHost: x\r\n${basic}\r\nContent-Length: 1\r\n\r\nx`;

const put = (...headers: string[]) => `PUT /home/a HTTP/1.1\r\nHost: x\r\n${[basic, ...headers].join('\r\n')}\r\n\r\n`;
const http10 = (...headers: string[]) => put(...headers).replace('HTTP/1.1', 'HTTP/1.0');
const get = (...headers: string[]) => `GET /home/ HTTP/1.1\r\n${[basic, ...headers].join('\r\n')}\r\n\r\n`;

/** Requests that two parsers might interpret differently. */
export const tricks: Record<string, string> = {
  'both lengths': `${put('Content-Length: 4', 'Transfer-Encoding: chunked')}0\r\n\r\n${hidden}`,
  'both lengths, the other order': `${put('Transfer-Encoding: chunked', 'Content-Length: 4')}0\r\n\r\n${hidden}`,
  'two different lengths': `${put('Content-Length: 1', `Content-Length: ${hidden.length}`)}x${hidden}`,
  'two equal lengths': `${put('Content-Length: 1', 'Content-Length: 1')}x${hidden}`,
  'a list of lengths': `${put('Content-Length: 1, 1')}x${hidden}`,
  'a length with a sign': `${put('Content-Length: +1')}x${hidden}`,
  'a negative length': `${put('Content-Length: -1')}x${hidden}`,
  'a length in hexadecimal': `${put('Content-Length: 0x1')}x${hidden}`,
  'a length with blanks inside': `${put('Content-Length: 1 0')}x${hidden}`,
  'an empty length': `${put('Content-Length:')}x${hidden}`,
  'a huge length': `${put('Content-Length: 18446744073709551617')}x${hidden}`,
  'an unknown coding': `${put('Transfer-Encoding: xchunked')}0\r\n\r\n${hidden}`,
  'another coding before chunked': `${put('Transfer-Encoding: gzip, chunked')}1\r\nx\r\n0\r\n\r\n${hidden}`,
  'another coding in a line of its own': `${put('Transfer-Encoding: gzip', 'Transfer-Encoding: chunked')}1\r\nx\r\n0\r\n\r\n${hidden}`,
  'chunked in HTTP 1.0': `${http10('Transfer-Encoding: chunked')}1\r\nx\r\n0\r\n\r\n${hidden}`,
  'chunked in HTTP 1.0 that is kept alive': `${http10('Transfer-Encoding: chunked', 'Connection: keep-alive')}1\r\nx\r\n0\r\n\r\n${hidden}`,
  'chunked is not last': `${put('Transfer-Encoding: chunked, identity')}0\r\n\r\n${hidden}`,
  'chunked twice': `${put('Transfer-Encoding: chunked, chunked')}0\r\n\r\n${hidden}`,
  'chunked in two lines, one false': `${put('Transfer-Encoding: chunked', 'Transfer-Encoding: cow')}0\r\n\r\n${hidden}`,
  'coding identity': `${put('Transfer-Encoding: identity')}0\r\n\r\n${hidden}`,
  'a blank before the colon': `${put('Transfer-Encoding : chunked')}0\r\n\r\n${hidden}`,
  'a vertical tab in the coding': `${put('Transfer-Encoding: \x0bchunked')}0\r\n\r\n${hidden}`,
  'a quoted coding': `${put('Transfer-Encoding: "chunked"')}0\r\n\r\n${hidden}`,
  'a NUL in a header': put('X: a\0b', 'Content-Length: 0') + hidden,
  'a bare CR in a header': put('X: a\rTransfer-Encoding: chunked', 'Content-Length: 0') + hidden,
  'obsolete folding': put('X: a\r\n Transfer-Encoding: chunked', 'Content-Length: 0') + hidden,
  'a folded coding': `${put('Transfer-Encoding:\r\n chunked')}0\r\n\r\n${hidden}`,
  'bare LF': `PUT /home/a HTTP/1.1\nHost: x\n${basic}\nContent-Length: 0\n\n${hidden}`,
  'bare LF at the end of the header section': `PUT /home/a HTTP/1.1\r\nHost: x\r\n${basic}\r\nContent-Length: 0\r\n\n${hidden}`,
  'a chunk that is longer than it says': `${put('Transfer-Encoding: chunked')}1\r\nxx\r\n0\r\n\r\n${hidden}`,
  'a chunk size with a prefix': `${put('Transfer-Encoding: chunked')}0x1\r\nx\r\n0\r\n\r\n${hidden}`,
  'a chunk size that overflows': `${put('Transfer-Encoding: chunked')}10000000000000001\r\nx\r\n0\r\n\r\n${hidden}`,
  'a chunk size with bare LF': `${put('Transfer-Encoding: chunked')}1\nx\n0\n\n${hidden}`,
  'a chunk extension with a bare LF': `${put('Transfer-Encoding: chunked')}1;a\nx\r\n0\r\n\r\n${hidden}`,
  'two hosts': get('Host: x', 'Host: y'),
  'an empty second host': get('Host: x', 'Host:'),
  'a host with a path': get('Host: x/../y'),
  'a host with a user': get('Host: a@x'),
  'no host': get(),
  'another host in the target': `GET http://evil.example/home/ HTTP/1.1\r\nHost: x\r\n${basic}\r\n\r\n`,
  'a user in the target': `GET http://x@evil.example/home/ HTTP/1.1\r\nHost: x\r\n${basic}\r\n\r\n`,
  'a target without a slash': `GET home/ HTTP/1.1\r\nHost: x\r\n${basic}\r\n\r\n`,
  'a blank in the target': `GET /home/ a HTTP/1.1\r\nHost: x\r\n${basic}\r\n\r\n`,
  'a header without a name': get('Host: x', ': a'),
  'a header name with a blank': get('Host: x', 'X Y: a'),
  'no version': 'GET /home/\r\n\r\n',
  'a connect': `CONNECT x:80 HTTP/1.1\r\nHost: x\r\n${basic}\r\n\r\n${hidden}`,
};

/** Two normal requests in one packet. The service must execute both. */
export const honest = `${put('Transfer-Encoding: chunked')}5;x=y\r\nhello\r\n0\r\nTrailer: x\r\n\r\nGET /home/a HTTP/1.1\r\nHost: x\r\n${basic}\r\n\r\n`;

export function statuses(reply: string): string[] {
  return [...reply.matchAll(/HTTP\/1\.[01] (\d{3})/g)].map(([, status = '']) => status);
}

export function assertNothingHidden(server: TestServer, what: string): void {
  assert.deepEqual(
    readdirSync(server.home).filter((name) => name === 'smuggled'),
    [],
    what,
  );
}
