// The least that a file server in Node.js can be: no authentication, no events, no checks. The peer of the benchmark.
import { createReadStream, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';

const [root, port = '0'] = process.argv.slice(2);
const server = createServer((incoming, outgoing) => {
  const path = join(root, incoming.url.slice('/home/'.length));
  outgoing.setHeader('content-length', statSync(path).size);
  createReadStream(path, { highWaterMark: 1024 * 1024 }).pipe(outgoing);
});
server.listen(Number(port), '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}/`));
