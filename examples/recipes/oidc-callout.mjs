// An authentication endpoint that asks an OpenID provider by the password grant: node oidc-callout.mjs [PORT]
// OIDC_ISSUER=https://id.example.com/realms/main  OIDC_TOKEN_URL=https://…/token  OIDC_CLIENT=svc  OIDC_SECRET=…
import { createServer } from 'node:http';

const { OIDC_ISSUER: issuer, OIDC_TOKEN_URL: tokenUrl, OIDC_CLIENT: client, OIDC_SECRET: secret } = process.env;
if (!issuer || !tokenUrl || !client || !secret) throw new Error('set OIDC_ISSUER, OIDC_TOKEN_URL, OIDC_CLIENT and OIDC_SECRET');
const { protocol, hostname } = new URL(tokenUrl);
if (protocol !== 'https:' && hostname !== '127.0.0.1')
  throw new Error('OIDC_TOKEN_URL must begin with https:, because passwords are sent there');
const maxBytes = 64 * 1024;

/** Reads a JSON body. @throws if it is longer than 64 KiB, or not JSON */
async function readJson(body) {
  const chunks = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > maxBytes) throw new Error('the body is too large');
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

/** Returns the claims of a token for this client. Its signature need not be checked, because it came from the provider over TLS. */
function claimsOf(token) {
  const claims = JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString('utf8'));
  const isForUs = claims.iss === issuer && [claims.aud].flat().includes(client) && claims.exp > Date.now() / 1000;
  if (!isForUs) throw new Error('the token is of another issuer, for another client, or has expired');
  return claims;
}

/** Returns status and body of the reply. After 401 svc asks the next method; any other status except 200 refuses the login. */
async function ask({ type, username, content }) {
  if (type !== 'password' || !username || !content) return [401, {}];
  const reply = await fetch(tokenUrl, {
    method: 'POST',
    // First form encoding, then base64 (RFC 6749, section 2.3.1).
    headers: { Authorization: `Basic ${btoa(`${encodeURIComponent(client)}:${encodeURIComponent(secret)}`)}` },
    body: new URLSearchParams({ grant_type: 'password', scope: 'openid profile email', username, password: content }),
    redirect: 'error',
    signal: AbortSignal.timeout(8000),
  });
  const told = await readJson(reply.body ?? []);
  if (reply.status === 400 && told.error === 'invalid_grant') return [401, {}];
  if (reply.status !== 200) throw new Error(`the provider answered ${reply.status}`);
  const claims = claimsOf(told.id_token);
  // For the provider, "Alice" or alice@example.com may be the same as "alice"; for svc they would be different accounts.
  if (claims.preferred_username !== username) return [401, {}];
  return [200, { account: claims.email_verified === true ? { email: claims.email } : {} }];
}

const server = createServer(async (request, response) => {
  let answer = [503, {}];
  try {
    answer = await ask((await readJson(request)).credentials);
  } catch (error) {
    // No provider, no token, a malformed request: refuse the login. A SyntaxError is not logged, because it quotes tokens and passwords.
    console.error(`refused: ${error instanceof SyntaxError ? 'no valid JSON' : error.message}`);
  }
  response.writeHead(answer[0], { 'Content-Type': 'application/json' }).end(JSON.stringify(answer[1]));
});
server.listen(Number(process.argv[2] ?? 9000), '127.0.0.1', () =>
  console.log(`listening on http://127.0.0.1:${server.address().port}/auth`),
);
