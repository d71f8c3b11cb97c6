#!/usr/bin/env node
// An inspection that asks an ICAP server (RFC 3507, RESPMOD): ICAP_URL=icap://127.0.0.1:1344/SERVICE node bridge.mjs [PORT]
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';

const icap = new URL(process.env.ICAP_URL ?? 'icap://127.0.0.1:1344/virus_scan');

/** Sends a file as the content of an HTTP reply. @returns the head of the ICAP server's reply, and whether it came before the end */
async function scan(incoming) {
  const socket = connect(Number(icap.port || 1344), icap.hostname);
  socket.setTimeout(60_000, () => socket.destroy(new Error('the ICAP server is silent')));
  const asked = `GET /file HTTP/1.1\r\nHost: svc\r\n\r\n`;
  const answered = `HTTP/1.1 200 OK\r\nContent-Type: ${incoming.headers['content-type']}\r\nTransfer-Encoding: chunked\r\n\r\n`;
  const parts = `req-hdr=0, res-hdr=${asked.length}, res-body=${asked.length + answered.length}`;
  let head = '';
  const reply = new Promise((resolve, reject) => {
    socket.on('data', (data) => {
      head += data.toString('latin1');
      if (head.includes('\r\n\r\n')) resolve(head.slice(0, head.indexOf('\r\n\r\n')));
    });
    socket.on('error', reject).on('close', () => reject(new Error('the ICAP server closed')));
  });
  reply.catch(() => {});
  const fields = `Host: ${icap.host}\r\nAllow: 204\r\nConnection: close\r\nEncapsulated: ${parts}`;
  socket.write(`RESPMOD ${icap.href} ICAP/1.0\r\n${fields}\r\n\r\n${asked}${answered}`);
  for await (const chunk of incoming) {
    socket.write(`${chunk.length.toString(16)}\r\n`);
    socket.write(chunk);
    if (!socket.write('\r\n')) await Promise.race([once(socket, 'drain'), reply]);
  }
  const isEarly = head !== '';
  socket.write('0\r\n\r\n');
  return reply.then((whole) => ({ head: whole, isEarly })).finally(() => socket.destroy());
}

const server = createServer(async (incoming, outgoing) => {
  try {
    if (incoming.headers.inspection === undefined) return void outgoing.writeHead(204).end(); // the test at the start
    const { head, isEarly } = await scan(incoming);
    const found = /^X-(?:Infection-Found|Virus-ID|Violations-Found):\s*(.*)$/im.exec(head)?.[1];
    if (found !== undefined) {
      outgoing.writeHead(422, { 'content-type': 'application/json' }).end(JSON.stringify({ message: found }));
      return;
    }
    // 204: nothing to change. A server that wants to change the file has not accepted it.
    outgoing.writeHead(!isEarly && /^ICAP\/1\.\d 204 /.test(head) ? 204 : 502).end(head.split('\r\n', 1)[0]);
  } catch (error) {
    outgoing.writeHead(502).end(error.message);
  }
});
server.listen(Number(process.argv[2] ?? 8092), '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}/`));
