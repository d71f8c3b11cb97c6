import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { authTestReport, decision } from '../../src/config/report-shapes.ts';
import { within } from '../support/client.ts';
import { asOperator, asViewer, startConsole } from '../support/console.ts';
import { begin, hidden } from '../support/draft-uploads.ts';
import { cheapHash } from '../support/passwords.ts';
import { until } from '../support/receiver.ts';
import { testPassword } from '../support/secrets.ts';

interface Listed {
  items: (Record<string, string> & { failures?: number })[];
  total: number;
}

test('sessions, locks, bans and uploads are listed and removed; a client whose session ended gets 401', async (t) => {
  const { server, console } = await startConsole(t, {
    server: { security_policy: { ban_after_failures: 3 } },
    service: { webdav_compatibility: true },
  });
  const contract = await console.contract();
  const list = async (path: string) => {
    const reply = await console.get(`/api/${path}`, asViewer);
    contract.check('GET', `/api/${path.replace(/\?.*/, '')}`, reply);
    return reply.json<Listed>();
  };
  const remove = async (path: string) => {
    const reply = await console.send('DELETE', `/api/${path}`, asOperator);
    contract.check('DELETE', `/api/${path.replace(/\?.*/, '')}`, reply);
    return reply.json<{ removed: number }>().removed;
  };

  const [first, second] = [await server.login(), await server.login()];
  const sessions = await list('sessions');
  assert.equal(sessions.total, 2);
  assert.equal((await list('sessions?limit=1')).items.length, 1);
  assert.equal((await list('sessions?account=bob')).total, 0);
  for (const [search, found] of [
    ['LIC', 2],
    ['127.0', 2],
    ['bob', 0],
  ] as const)
    assert.equal((await list(`sessions?search=${search}&limit=5`)).total, found, search);
  assert.equal(await remove(`sessions?id=${sessions.items[0]?.id}`), 1);
  const statuses = [(await server.get('/home/', within(first))).status, (await server.get('/home/', within(second))).status];
  assert.deepEqual(statuses.sort(), [200, 401]);
  assert.equal(await remove('sessions?account=alice'), 1);
  assert.equal((await server.get('/home/', within(second))).status, 401);

  await server.put('/home/locked', 'x');
  const lockinfo = '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>';
  assert.equal((await server.send('LOCK', '/home/locked', { headers: { 'user-agent': 'WebDAVFS/3.0.0' }, body: lockinfo })).status, 200);
  assert.equal((await server.put('/home/locked', 'y')).status, 423);
  assert.equal((await list('locks')).items[0]?.account, 'alice');
  assert.equal(await remove('locks?all=1'), 1);
  assert.equal((await server.put('/home/locked', 'y')).status, 201);

  const upload = await begin(server, 'big.bin', Buffer.alloc(1000));
  const [shown] = (await list('uploads')).items;
  assert.deepEqual([shown?.account, shown?.path, shown?.received_bytes], ['alice', '/big.bin', 1000]);
  assert.equal(JSON.stringify(shown).includes(upload.split('/').at(-1) ?? 'no ID'), false, 'the URL of the upload is not shown');
  assert.equal(hidden(server).length, 1);
  assert.equal(await remove(`uploads?id=${shown?.id}`), 1);
  assert.deepEqual([(await list('uploads')).total, hidden(server)], [0, []]);
  for (const name of ['older', 'newer']) await begin(server, name, Buffer.alloc(10));
  const paths = (await list('uploads')).items.map(({ path }) => path);
  assert.deepEqual(paths, ['/newer', '/older'], 'the upload that was continued last comes first');
  assert.equal(await remove('uploads?all=1'), 2);

  const guess = async (number: number) => (await server.get('/home/', { user: `alice:wrong-${number}` })).status;
  for (let number = 0; number < 3; number++) await guess(number);
  assert.equal(await guess(3), 429);
  const headers = await console.session();
  const [ban] = (await console.get('/api/bans', { headers })).json<Listed>().items;
  assert.deepEqual([ban?.address, ban?.logins, ban?.failures], ['127.0.0.1', 'files', 3]);
  assert.ok(Math.abs(Date.now() - Date.parse(String(ban?.since))) < 30_000, String(ban?.since));
  const lifted = await console.send('DELETE', `/api/bans?id=${encodeURIComponent(ban?.id ?? '')}`, { headers });
  contract.check('DELETE', '/api/bans', lifted);
  assert.deepEqual([lifted.json(), await guess(4)], [{ removed: 1 }, 401]);

  const actions = (await server.events()).filter(({ id }) => id === '20191').map(({ data }) => [data.action, data.administrator]);
  assert.deepEqual(
    actions,
    ['session-end', 'session-end', 'lock-break', 'upload-cancel', 'upload-cancel', 'ban-lift'].map((action) => [action, 'olga']),
  );
  assert.ok((await server.eventIds()).includes(40069), 'the cancelled upload is reported');
});

test('guesses at a file account do not lock out the administrator of the same name; limits of both are listed separately', async (t) => {
  const { server, console } = await startConsole(
    t,
    { server: { security_policy: { ban_after_failures: 100 } } },
    { administrators: { alice: { password: await cheapHash(testPassword), role: 'operator' } } },
  );
  // The second name looks like the name under which the console lists the limit of the administrator alice (`administrator/alice`).
  for (const name of ['alice', 'administrator alice'])
    for (let index = 0; index < 10; index++) await server.get('/home/', { user: `${name}:guess ${index}` });
  const user = `alice:${testPassword}`;
  assert.equal((await server.get('/home/', { user, headers: { accept: 'application/json' } })).status, 429);
  const items = async () => (await console.get('/api/bans', { user })).json<Listed>().items.map(({ id, account }) => [id, account]);
  assert.deepEqual(await items(), [
    ['name:alice', 'alice'],
    ['name:administratoralice', 'administratoralice'],
  ]);
  const found = (await console.get('/api/bans?account=Administrator%20Alice', { user })).json<Listed>().items;
  assert.deepEqual(
    found.map(({ id }) => id),
    ['name:administratoralice'],
  );
  for (let index = 0; index < 10; index++) await console.get('/api/me', { user: `alice:guess ${index}` });
  assert.deepEqual((await items()).at(-1), ['name:administrator/alice', 'administrator/alice']);
  assert.equal((await console.get('/api/bans', { user })).json<Listed>().items.at(-1)?.logins, 'console');
  const lifted = await console.send('DELETE', '/api/bans?all=1', { user });
  assert.deepEqual(lifted.json(), { removed: 3 });
  assert.deepEqual(await items(), []);
  assert.equal((await server.get('/home/', { user, headers: { accept: 'application/json' } })).status, 200);
});

test('removals are refused without exactly one target, for viewers, and from another origin; lists refuse wrong queries', async (t) => {
  const { server, console } = await startConsole(t);
  const contract = await console.contract();
  const session = await server.login();
  for (const name of ['sessions', 'bans', 'locks', 'uploads']) {
    for (const [query, credentials, status] of [
      ['?all=1', asViewer, 403],
      ['', asOperator, 400],
      ['?all=1&account=alice', asOperator, 400],
      ['?account=alice', {}, 401],
      ['?address=nonsense', asOperator, 400],
    ] as const) {
      const reply = await console.send('DELETE', `/api/${name}${query}`, credentials);
      contract.check('DELETE', `/api/${name}`, reply);
      assert.equal(reply.status, status, `${name}${query}`);
    }
    for (const query of ['?limit=0', '?limit=10001', '?limit=x', '?unknown=1']) {
      const reply = await console.get(`/api/${name}${query}`, asViewer);
      contract.check('GET', `/api/${name}`, reply);
      assert.equal(reply.status, 400, `${name}${query}`);
    }
    const foreign = await console.send('DELETE', `/api/${name}?all=1`, {
      headers: { ...(await console.session()), origin: 'https://evil.example' },
    });
    assert.equal(foreign.status, 403, name);
  }
  assert.equal((await server.get('/home/', within(session))).status, 200);
});

test('explain decides by the configuration in force, refuses wrong requests, and is not for viewers', async (t) => {
  const { console } = await startConsole(t);
  const contract = await console.contract();
  const ask = async (body: unknown, credentials = asOperator) => {
    const reply = await console.post('/api/explain', body, credentials);
    contract.check('POST', '/api/explain', reply);
    return reply;
  };
  const allowed = decision.parse((await ask({ user: 'alice', method: 'PUT', path: '/home/a' })).json());
  assert.deepEqual([allowed.allowed, allowed.rule, allowed.steps.length > 3], [true, 'general', true]);
  const refused = decision.parse((await ask({ user: 'nobody', method: 'GET', path: '/home/a' })).json());
  assert.deepEqual([refused.allowed, refused.status], [false, 401]);
  for (const body of [
    { user: 'alice', method: 'GET' },
    { user: 'alice', method: 'LOGIN', path: '/home/' },
    { user: 'alice', method: 'POST', path: '/home/' },
    { method: 'GET', path: '/home/' },
    { user: 'alice', method: 'GET', path: '/home/', more: 1 },
    { user: 'alice', method: 'GET', path: 'x'.repeat(20_000) },
  ])
    assert.equal((await ask(body)).status, 400, JSON.stringify(body).slice(0, 100));
  assert.equal((await ask({ user: 'alice', method: 'GET', path: '/home/' }, asViewer)).status, 403);
});

/** Starts an endpoint that replies 403 and repeats the password. After `hold`, replies wait for `letGo`. */
async function echoing(t: TestContext) {
  const waiting: (() => void)[] = [];
  let isHolding = false;
  let most = 0;
  const endpoint = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const { content } = (JSON.parse(Buffer.concat(chunks).toString()) as { credentials: { content: string } }).credentials;
      const answer = () => outgoing.writeHead(403).end(JSON.stringify({ code: 1, message: `no: ${content}`, extra: content }));
      if (!isHolding) return answer();
      waiting.push(answer);
      most = Math.max(most, waiting.length);
    });
    outgoing.on('error', () => {});
  });
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    endpoint.closeAllConnections();
    endpoint.close();
  });
  const { port } = endpoint.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}/`,
    hold: () => {
      isHolding = true;
    },
    letGo: () => {
      isHolding = false;
      for (const answer of waiting.splice(0)) answer();
    },
    waiting,
    most: () => most,
  };
}

test('an auth-test distinguishes an unknown name from a wrong password; replies to clients do not', async (t) => {
  const { server, console } = await startConsole(t, { accounts: { keyless: {} } });
  const told = async (body: { username: string } & Record<string, string>) =>
    authTestReport.parse((await console.post('/api/auth-test', body, asOperator)).json()).methods[0]?.reason;
  assert.equal(await told({ username: 'nobody', password: 'wrong' }), 'The name is not known here.');
  assert.equal(await told({ username: 'alice', password: 'wrong' }), 'The name is known here, but the password is wrong.');
  assert.equal(await told({ username: 'keyless', password: 'wrong' }), 'The name is known here, but the account has no password.');
  const answers = [];
  for (const name of ['nobody', 'alice', 'keyless']) {
    const { status, headers, text } = await server.send('GET', '/home/', { user: `${name}:wrong` });
    answers.push({ status, headers: { ...headers, 'x-request-id': '', date: '' }, text });
  }
  assert.equal(answers[0]?.status, 401);
  for (const answer of answers) assert.deepEqual(answer, answers[0]);
});

test('an auth-test asks the methods in force; its credentials are shown nowhere', async (t) => {
  const endpoint = await echoing(t);
  const { server, console } = await startConsole(t, {
    authentications: { local: { type: 'application' }, remote: { type: 'http', url: endpoint.url, test_at_start: false } },
  });
  const contract = await console.contract();
  const ask = async (body: unknown, credentials = asOperator) => {
    const reply = await console.post('/api/auth-test', body, credentials);
    contract.check('POST', '/api/auth-test', reply);
    return reply;
  };
  const good = authTestReport.parse((await ask({ username: 'alice', password: testPassword })).json());
  assert.deepEqual([good.outcome, good.methods.map(({ method }) => method)], ['authenticated', ['local']]);
  const secret = 'marker-Te5ted-"\\x';
  const echoed = await ask({ username: 'bob', password: secret });
  assert.deepEqual([echoed.status, authTestReport.parse(echoed.json()).outcome], [200, 'rejected']);
  assert.match(echoed.text, /no: \*\*\*/);
  // If the password is a word of svc's own messages, the word is not masked in these messages.
  for (const word of ['account', 'rejected', 'endpoint', 'local', 'http', 'remote', 'outcome', 'credentials']) {
    // The request is not sent with the test client, which would treat the word as a secret from then on.
    const headers = { authorization: `Basic ${btoa(asOperator.user)}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ username: 'bob', password: word });
    const { methods } = authTestReport.parse(await (await fetch(`${console.url}/api/auth-test`, { method: 'POST', headers, body })).json());
    assert.deepEqual(
      methods.map(({ method, type, reason }) => [method, type, reason]),
      [
        ['local', 'application', 'The name is not known here.'],
        ['remote', 'http', 'The endpoint forbids the account (403).'],
      ],
    );
    assert.match(JSON.stringify(methods[1]?.failure), /"no: \*\*\*"/, word);
  }
  const broken = await console.send('POST', '/api/auth-test', {
    ...asOperator,
    headers: { 'content-type': 'application/json' },
    body: `{"username": "bob", "password": "${'marker-Te5ted'}" x`,
  });
  assert.equal(broken.status, 400);
  for (const body of [
    { username: 'alice' },
    { password: secret },
    { username: 'alice', password: secret, certificate: secret },
    { username: 'alice', password: [secret] },
    { username: 'alice', ssh_key: secret },
    { certificate: secret },
    { username: 'alice', password: secret, method: 'nowhere' },
    { username: 'alice', password: secret, peer: 'nowhere' },
    { username: 'alice', password: secret, [secret.slice(0, 4)]: 1 },
  ]) {
    const reply = await ask(body);
    assert.equal(reply.status, 400, JSON.stringify(body));
    assert.equal(reply.text.includes('Te5ted'), false, reply.text);
  }
  assert.equal((await ask({ username: 'alice', password: testPassword }, asViewer)).status, 403);
  for (const text of [echoed.text, broken.text, server.log.join(''), JSON.stringify(await server.events())])
    assert.equal(text.includes('Te5ted'), false, text.slice(0, 1000));
  const told = (await server.events()).filter(({ id }) => id === '20191').map(({ data }) => [data.action, data.target]);
  assert.deepEqual(told, [['auth-test', 'alice'], ['auth-test', 'bob'], ...Array.from({ length: 8 }, () => ['auth-test', 'bob'])]);
});

test('four auth-tests run at a time, four wait, and further ones are refused; a test ends when its client leaves', async (t) => {
  const endpoint = await echoing(t);
  const { console } = await startConsole(t, {
    authentications: { remote: { type: 'http', url: endpoint.url, test_at_start: false } },
  });
  await console.get('/api/me', asOperator);
  endpoint.hold();
  const body = { username: 'bob', password: 'marker-Flood-1' };
  let refused = 0;
  const flood = Array.from({ length: 30 }, async () => {
    const { status } = await console.post('/api/auth-test', body, asOperator);
    if (status === 503) refused++;
    return status;
  });
  await until('four requests are at the endpoint, and 22 are refused', () => endpoint.waiting.length === 4 && refused === 22);
  endpoint.letGo();
  const statuses = await Promise.all(flood);
  assert.deepEqual([statuses.filter((status) => status === 200).length, endpoint.most()], [8, 4]);

  endpoint.hold();
  const gone = new AbortController();
  const fetched = fetch(`${console.url}/api/auth-test`, {
    method: 'POST',
    signal: gone.signal,
    headers: { authorization: `Basic ${btoa(asOperator.user)}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }).catch(() => undefined);
  await until('the endpoint is asked', () => endpoint.waiting.length === 1);
  gone.abort();
  await fetched;
  endpoint.waiting.splice(0);
  const more = Array.from({ length: 4 }, () => console.post('/api/auth-test', body, asOperator));
  await until('four requests are at the endpoint again', () => endpoint.waiting.length === 4);
  endpoint.letGo();
  assert.deepEqual(
    (await Promise.all(more)).map(({ status }) => status),
    [200, 200, 200, 200],
  );
});
