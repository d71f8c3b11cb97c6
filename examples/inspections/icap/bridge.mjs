#!/usr/bin/env node
// An inspection that asks an ICAP server (RFC 3507, RESPMOD): ICAP_URL=icap://127.0.0.1:1344/SERVICE node bridge.mjs [PORT]
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';

const icap = new URL(process.env.ICAP_URL ?? 'icap://127.0.0.1:1344/virus_scan');
const http = ['GET /file HTTP/1.1\r\nHost: svc\r\n\r\n', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'];
const parts = `req-hdr=0, res-hdr=${http[0].length}, res-body=${http.join('').length}`;
const fields = `Host: ${icap.host}\r\nAllow: 204\r\nConnection: close\r\nEncapsulated: ${parts}`;

/** @returns the status and message of the reply to svc */
async function readVerdict(socket, file) {
  let head = '';
  for await (const data of socket) {
    head += data.toString('latin1');
    if (head.includes('\r\n\r\n')) break;
  }
  const found = /^X-(?:Infection-Found|Virus-ID|Violations-Found):\s*(.*)$/im.exec(head)?.[1];
  if (found !== undefined) return [422, found];
  // 204 means that the file need not be changed. If the server changes the file, or answers before the end of the file, the file is not
  // accepted.
  return file.readableEnded && /^ICAP\/1\.\d 204 [\s\S]*\r\n\r\n/.test(head) ? [204] : [502, head.split('\r\n', 1)[0]];
}

/** Sends a file as the content of an HTTP reply. */
async function inspect(file) {
  const socket = connect(Number(icap.port || 1344), icap.hostname);
  socket.setTimeout(60_000, () => socket.destroy(new Error('the ICAP server is silent')));
  const verdict = readVerdict(socket, file).catch((error) => [502, error.message]);
  socket.write(`RESPMOD ${icap.href} ICAP/1.0\r\n${fields}\r\n\r\n${http.join('')}`);
  for await (const chunk of file) {
    const framed = [`${chunk.length.toString(16)}\r\n`, chunk, '\r\n'].map((part) => Buffer.from(part));
    if (!socket.write(Buffer.concat(framed))) await Promise.race([once(socket, 'drain'), verdict]);
  }
  socket.write('0\r\n\r\n');
  return verdict;
}

const server = createServer(async (incoming, outgoing) => {
  const isTest = incoming.headers.inspection === undefined; // when svc starts, it sends a request without a file
  const [status, message] = isTest ? [204] : await inspect(incoming).catch((error) => [502, error.message]);
  outgoing.writeHead(status, { 'content-type': 'application/json' }).end(message && JSON.stringify({ message }));
});
server.listen(Number(process.argv[2] ?? 8092), '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}/`));
