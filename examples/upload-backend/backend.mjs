// A back-end that checks each upload and answers with a receipt: node backend.mjs [PORT]. Files named *.exe are refused.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const { events } = JSON.parse(Buffer.concat(chunks));
  const [{ data, uuid }] = events;
  if (data.path.endsWith('.exe')) {
    response.writeHead(422, 'Not taken').end();
    return;
  }
  // Only the machine of svc has this path. On another machine, download the file from the service.
  const digest = createHash('sha256')
    .update(await readFile(data.real_path))
    .digest('hex');
  console.log(`${data.path} ${data.total_write} bytes ${digest}`);
  response.writeHead(200, { 'X-Receipt': uuid, 'X-Scan': `clean; sha256=${digest}` }).end();
});
server.listen(Number(process.argv[2] ?? 9000), '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}`));
