// Receives webhooks in a separate process. Counts events, by occurrences of `real_path`. `/goal=NUMBER` sets a goal: when the count
// reaches the goal, the program prints a line. `/times` returns arrival times.
import { createServer } from 'node:http';

let goal = Number.POSITIVE_INFINITY;
let count = 0;
let requests = 0;
let firstMs = 0;
const times = [];
const nowMs = () => performance.timeOrigin + performance.now();

function countEvents(body) {
  const mark = '"real_path"';
  for (let at = body.indexOf(mark); at >= 0; at = body.indexOf(mark, at + mark.length)) count++;
  const name = times.length < 5000 ? /"file_name":"([^"]+)"/.exec(body)?.[1] : undefined;
  if (name !== undefined) times.push([name, nowMs()]);
}

const server = createServer((incoming, outgoing) => {
  if (incoming.url.startsWith('/goal')) {
    goal = Number(incoming.url.split('=')[1]);
    count = 0;
    requests = 0;
    times.length = 0;
    outgoing.end();
    return;
  }
  if (incoming.url === '/times') {
    outgoing.end(JSON.stringify(times));
    return;
  }
  if (incoming.url === '/hang') return;
  const chunks = [];
  incoming.on('data', (chunk) => chunks.push(chunk));
  incoming.on('end', () => {
    if (requests++ === 0) firstMs = nowMs();
    countEvents(Buffer.concat(chunks).toString('latin1'));
    outgoing.end();
    if (count < goal) return;
    console.log(`reached ${count} ${requests} ${nowMs() - firstMs}`);
    goal = Number.POSITIVE_INFINITY;
  });
});
server.keepAliveTimeout = 600_000;
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/`));
