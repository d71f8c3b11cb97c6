// A webhook receiver that needs only Node.js: node receiver.mjs [PORT]. It checks signatures, and skips events whose UUID it has
// seen before. It answers fast: do slow work after the answer.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const secret = process.env.HOOK_SECRET ?? 'whsec_bm90LWEtc2VjcmV0LW9ubHktYW4tZXhhbXBsZQ==';
const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
const seen = new Set();

// Standard Webhooks: HMAC-SHA256 of ID, time and body. A request older than five minutes is refused, so nobody can replay it later.
function isSigned(headers, body) {
  const id = headers['webhook-id'];
  const time = Number(headers['webhook-timestamp']);
  if (!id || !(Math.abs(Date.now() / 1000 - time) < 300)) return false;
  const wanted = createHmac('sha256', key).update(`${id}.${time}.`).update(body).digest();
  return String(headers['webhook-signature'])
    .split(' ')
    .map((signature) => Buffer.from(signature.replace(/^v1,/, ''), 'base64'))
    .some((given) => given.length === wanted.length && timingSafeEqual(given, wanted));
}

function crm(request, body) {
  if (!isSigned(request.headers, body)) return 401;
  for (const event of JSON.parse(body).events) {
    // Events are delivered at least once, so the same event may arrive again.
    if (seen.has(event.uuid)) continue;
    seen.add(event.uuid);
    console.log(`crm: ${event.id} ${event.data.path} by ${event.account.name}`);
  }
  return 204;
}

function chat(_request, body) {
  console.log(`chat: ${JSON.parse(body).text}`);
  return 200;
}

function audit(_request, body) {
  const { who, what, file } = JSON.parse(body);
  console.log(`audit: ${what} ${file} ${who}`);
  return 200;
}

const routes = { '/crm': crm, '/chat': chat, '/audit': audit };

const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    let status = 404;
    try {
      status = routes[request.url]?.(request, Buffer.concat(chunks)) ?? 404;
    } catch (error) {
      console.error(error.message);
      status = 400;
    }
    response.writeHead(status).end();
  });
});
server.listen(Number(process.argv[2] ?? 9000), '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}`));
