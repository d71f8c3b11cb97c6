// An authentication endpoint in plain Node.js. Start it with: node endpoint.mjs [PORT]
import { createServer } from 'node:http';

/** Replace this with your own user database; here there are two users in memory. */
const users = {
  alice: { password: 'correct horse', account: { group: 'STAFF', email: 'alice@example.com' } },
  bob: { password: 'battery staple', account: { permissions: [['allow-read', 'allow-list']] } },
};
const locked = new Set(['mallory']);

/** Accounts whose access tokens and links are valid. svc has checked the secret and sends only the ID (option `tokens: true`). */
const mayUseTokens = new Set(['alice']);

function isRight({ type, username, content }) {
  if (type === 'token') return mayUseTokens.has(username);
  return type === 'password' && users[username]?.password === content;
}

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const { credentials } = JSON.parse(Buffer.concat(chunks).toString('utf8'));
  const user = users[credentials.username];
  if (locked.has(credentials.username)) {
    // Reject the login: svc asks no other method.
    response.writeHead(403, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ message: 'This account is locked.', extra: 'ticket 4711', public_response: { locked: true } }));
  } else if (!user || !isRight(credentials)) {
    // Not known here: svc asks the next authentication method.
    response.writeHead(401, { 'Content-Type': 'text/plain' });
    response.end('unknown');
  } else {
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ account: user.account }));
  }
});
server.listen(Number(process.argv[2] ?? 9000), '127.0.0.1', () =>
  console.log(`listening on http://127.0.0.1:${server.address().port}/auth`),
);
