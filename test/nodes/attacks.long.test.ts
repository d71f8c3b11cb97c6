import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { askHeld } from '../../src/control/control-socket.ts';
import type { ServiceEvent } from '../../src/events/event.ts';
import { openFlags, packetTypes, statusCodes } from '../../src/ssh/sftp/packets/packets.ts';
import { run } from '../support/child.ts';
import { type Client, type TestReply, within } from '../support/client.ts';
import { createTus, fillTus } from '../support/doors.ts';
import { countStatuses, from, guessAtOnce } from '../support/guesses.ts';
import { type HeldItem, hidden, visible } from '../support/inspecting.ts';
import { startInspector } from '../support/inspector.ts';
import { makeLink, visit } from '../support/links.ts';
import { type NodeProcess, startNodes } from '../support/node-process.ts';
import { cheapHash } from '../support/passwords.ts';
import { until } from '../support/receiver.ts';
import { freePort, startRedis, type TestRedis } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';
import { testPassword, testUser } from '../support/secrets.ts';
import { loginSftp } from '../support/sftp-client.ts';
import { makeKey, tryLogins } from '../support/ssh.ts';
import { stallDownload } from '../support/stalled-transfers.ts';
import { startSupervised } from '../support/supervised.ts';
import { temporaryFolder } from '../support/temp.ts';
import { bearer, makeToken } from '../support/tokens.ts';
import { trashOf } from '../support/trash.ts';

/** More than sockets hold. */
const largeBytes = 64 * 1024 * 1024;

const rounds = 20;

interface Pair {
  redis: TestRedis;
  folder: string;
  home: string;
  nodes: [NodeProcess, NodeProcess];
  here: Client;
  there: Client;
  /** Port of SFTP at a node. */
  ssh(node: 'n0' | 'n1'): number;
  events(id: number): Promise<ServiceEvent[]>;
}

/** Two processes on one Redis, with HTTP that keeps locks and SFTP. @param ban failures until an address is banned; 0 for never */
async function startPair(
  t: TestContext,
  ban: number,
  group: Record<string, unknown> = {},
  sections: Record<string, unknown> = {},
): Promise<Pair> {
  const redis = await startRedis(t);
  const folder = temporaryFolder(t);
  const home = join(folder, 'home');
  const ports: Record<string, number> = {};
  const hostKey = makeKey(temporaryFolder(t), 'host_key');
  const password = await cheapHash(testPassword);
  const security_policy = { ban_after_failures: ban, ban_seconds: 600 };
  const nodes = await startNodes(t, folder, '', [redis.url, redis.url], {
    event_handlers: {},
    server: { security_policy },
    web: { webdav_compatibility: true },
    services: async (name) => {
      ports[name] = await freePort();
      return { sftp: { type: 'ssh', port: ports[name], host_key_paths: [hostKey], maximum_sessions_per_account: 2 } };
    },
    sections: {
      groups: { DEFAULT_GROUP: { home_folder_path: home, ...group } },
      accounts: { alice: { password }, bob: { password } },
      ...sections,
    },
  });
  const [first, second] = nodes as [NodeProcess, NodeProcess];
  const events = async (id: number) => {
    const { code, stdout, stderr } = await run(t, ['events', '--json', '--limit', '100000', '--id', String(id), '--config', first.config], {
      cwd: folder,
    });
    assert.equal(code, 0, stderr);
    return stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as ServiceEvent);
  };
  return {
    redis,
    folder,
    home,
    nodes: [first, second],
    here: first.client,
    there: second.client,
    ssh: (node) => ports[node] as number,
    events,
  };
}

/** Sends requests to both nodes at once, in turn. */
function atBoth<Reply>({ here, there }: Pair, count: number, request: (node: Client, index: number) => Promise<Reply>): Promise<Reply[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => request(index % 2 === 0 ? here : there, index)));
}

const statuses = (replies: readonly TestReply[]) => replies.map(({ status }) => status).sort();

const lockBody = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>';
const lockHeaders = { 'content-type': 'application/xml', 'user-agent': 'WebDAVFS/3.0.0 (03008000) Darwin/22.1.0 (arm64)', depth: '0' };
const lock = (node: Client, target: string) => node.send('LOCK', target, { body: lockBody, headers: lockHeaders });

test('guesses that alternate between nodes', { timeout: 110_000 }, async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const pair = await startPair(t, 5, {}, {});
  const { here, there, ssh } = pair;

  await t.test('of one address, 80 at once with the right one among them: five are looked at, over SFTP no more', async () => {
    const { guesses, inTheMiddle } = await guessAtOnce([here, there], 80, '203.0.113.1', testUser);
    assert.deepEqual(countStatuses(guesses), { 401: 5, 429: 75 });
    assert.equal(inTheMiddle?.status, 429);
    assert.equal((await pair.events(20021)).length, 5);
  });

  await t.test('of one address in turn, one after the other, with a success of an own account in between', async () => {
    const got: number[] = [];
    for (let index = 0; index < 8; index++) {
      const node = index % 2 === 0 ? here : there;
      got.push((await node.get('/home/', from('203.0.113.2', `alice:in turn, number ${index}`))).status);
      await (index % 2 === 0 ? there : here).get('/home/', from('203.0.113.2', `bob:${testPassword}`));
    }
    assert.deepEqual(got, [401, 401, 401, 401, 401, 429, 429, 429]);
  });

  await t.test('of one name from 60 addresses: ten in all', async () => {
    const spelled = ['carol', 'CAROL', 'Carol', 'cárol'];
    const replies = await atBoth(pair, 60, (node, index) =>
      node.get('/home/', from(`198.51.100.${index}`, `${spelled[index % 4]}:from anywhere ${index}`)),
    );
    assert.deepEqual(countStatuses(replies), { 401: 10, 429: 50 });
  });

  await t.test('by HTTP at one node and by SFTP at the other', async () => {
    for (let index = 0; index < 3; index++)
      assert.equal((await here.get('/home/', { user: `bob:by HTTP ${index}`, headers: { accept: 'application/json' } })).status, 401);
    const attempts = Array.from({ length: 4 }, (_, index) => ({
      type: 'password',
      username: 'bob',
      password: `by SFTP, number ${index}`,
    }));
    assert.equal((await tryLogins(t, ssh('n1'), attempts)).client, undefined);
    assert.equal((await here.get('/home/', { user: `bob:${testPassword}` })).status, 429, 'the right one does not help any more');
    assert.equal((await tryLogins(t, ssh('n0'), [{ type: 'password', username: 'alice', password: testPassword }])).client, undefined);
  });
});

test('what ends at one node is not used at the other', { timeout: 170_000 }, async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const pair = await startPair(
    t,
    0,
    { allow_own_password_change: true },
    {
      authentications: { local: { type: 'application', accounts_file_path: 'shared-accounts.yaml' } },
    },
  );
  const { here, there, home, nodes, ssh } = pair;
  writeFileSync(join(home, 'a'), 'A');
  writeFileSync(join(home, 'large'), '');
  truncateSync(join(home, 'large'), largeBytes);
  const soon = async (what: string, begun: number) => {
    const ms = Math.round(performance.now() - begun);
    t.diagnostic(`${what} after ${ms} ms`);
    // Documented is a second; the machine may be busy.
    assert.ok(ms < 8000, `${what} after ${ms} ms`);
  };

  await t.test('a session: 20 times requests at the other node around its logout, none gets in after the answer', async () => {
    for (let round = 0; round < rounds; round++) {
      const session = await here.login();
      let isOver = false;
      const late: number[] = [];
      const use = async () => {
        for (let index = 0; index < 8; index++) {
          const wasOver = isOver;
          const { status } = await there.get('/home/a', within(session));
          if (wasOver) late.push(status);
        }
      };
      const out = here.send('POST', '/__svc__/logout', within(session, { body: '' })).then(({ status }) => {
        isOver = true;
        return status;
      });
      await Promise.all([use(), use(), out.then((status) => assert.equal(status, 204))]);
      late.push((await there.get('/home/a', within(session))).status);
      assert.deepEqual([...new Set(late)], [401]);
    }
  });

  await t.test('a session ended twice at once, at both nodes, has one event', async () => {
    const before = (await pair.events(40037)).length;
    const session = await here.login();
    await atBoth(pair, 4, (node) => node.send('POST', '/__svc__/logout', within(session, { body: '' })));
    assert.equal((await pair.events(40037)).length, before + 1);
  });

  await t.test('a token: its requests, a running download and an SFTP connection at the other node', async () => {
    const { id, token, as } = await makeToken(here);
    const download = await stallDownload(there.port, '/home/large', { authorization: `Bearer ${token}` });
    const { sftp, ended } = await loginSftp(t, ssh('n1'), { password: token });
    const handle = await sftp.open('open', openFlags.write | openFlags.create);
    assert.equal(await sftp.write(handle, 0, 'x'), statusCodes.ok);
    assert.equal((await there.get('/home/a', as)).status, 200);
    const begun = performance.now();
    const [revoked] = await Promise.all([
      here.send('DELETE', `/home/__svc__/tokens/${id}`),
      ...Array.from({ length: 10 }, () => there.get('/home/a', bearer(token))),
    ]);
    assert.equal(revoked?.status, 204);
    assert.equal((await there.get('/home/a', as)).status, 401);
    await ended;
    await soon('the SFTP connection of a revoked token ended', begun);
    assert.ok((await download.finish()) < largeBytes);
    assert.equal((await tryLogins(t, ssh('n1'), [{ type: 'password', username: 'alice', password: token }])).client, undefined);
    assert.equal(existsSync(join(home, 'open')), false, 'nothing was given its name');
  });

  await t.test('a link: its running download at the other node', async () => {
    const link = await makeLink(here, { path: '/large' });
    const download = await stallDownload(there.port, `${link.at}large`, {});
    const begun = performance.now();
    assert.equal((await here.send('DELETE', `/home/__svc__/links/${link.id}`)).status, 204);
    assert.equal((await visit(there, 'HEAD', link.at)).status, 410);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    assert.ok((await download.finish()) < largeBytes);
    await soon('the download of a revoked link ended', begun);
  });

  await t.test('one password changed at both nodes at once: one change is made, the other refused', async () => {
    const change = (node: Client, session: string, current_password: string, new_password: string) =>
      node.send('POST', '/home/__svc__/password-update', {
        ...within(session, { headers: { 'content-type': 'application/json' } }),
        body: JSON.stringify({ current_password, new_password }),
      });
    let current = testPassword;
    for (let round = 0; round < 4; round++) {
      const as = { user: `bob:${current}` };
      const login = (node: Client) => node.login('bob', current, as);
      const sessions = [await login(here), await login(there)] as const;
      const next = [`chosen here, round ${round}`, `chosen there, round ${round}`] as const;
      // The session that another change ends may be cut before its own is answered.
      const asked = [change(here, sessions[0], current, next[0]), change(there, sessions[1], current, next[1])];
      const answered = (await Promise.allSettled(asked)).map((reply) => (reply.status === 'fulfilled' ? reply.value.status : 0));
      const isGood = async (node: Client, password: string) =>
        (await node.get('/home/', { user: `bob:${password}`, headers: { accept: 'application/json' } })).status === 200;
      let good: string[] = [];
      await until('both nodes have read the accounts', async () => {
        const all = [current, ...next];
        const at = await Promise.all([here, there].map((node) => Promise.all(all.map((password) => isGood(node, password)))));
        good = all.filter((_, index) => at[0]?.[index]);
        return isDeepStrictEqual(at[0], at[1]);
      });
      t.diagnostic(`password changes at once: ${answered}, good afterwards: ${good}`);
      assert.equal(good.length, 1, 'one password is good, at both nodes');
      assert.equal(answered[next.indexOf(good[0] as never)], 204, 'it is one that was answered');
      assert.equal(answered.filter((status) => status === 204).length, 1, 'no answered change is lost');
      current = good[0] as string;
    }
  });

  await t.test('an account that is removed at one node: its session, its download and its SFTP connection at the other', async () => {
    const session = await there.login();
    const { ended } = await loginSftp(t, ssh('n0'));
    const download = await stallDownload(here.port, '/home/large', { authorization: `session ${session}` });
    const begun = performance.now();
    for (const { config, running } of nodes) {
      const content = JSON.parse(readFileSync(config, 'utf8'));
      delete content.accounts.alice;
      writeFileSync(config, JSON.stringify(content));
      running.child.kill('SIGHUP');
    }
    await ended;
    await soon('the SFTP connection of a removed account ended', begun);
    assert.ok((await download.finish()) < largeBytes);
    for (const node of [here, there]) assert.equal((await node.get('/home/a', within(session))).status, 401);
  });
});

test('changes of one thing at both nodes at once', { timeout: 170_000 }, async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const inspector = await startInspector(t);
  const pair = await startPair(
    t,
    0,
    { trash: { days: 30 }, inspections: [[], ['/d/*', 'check']] },
    {
      inspections: { check: { type: 'http', url: inspector.url, test_at_start: false } },
    },
  );
  const { here, there, home, folder, ssh } = pair;
  mkdirSync(join(home, 'd'));

  await t.test('one name by If-None-Match: * and by EXCL of SFTP: one is made, with its content and one event', async () => {
    const { sftp, client, ended: left } = await loginSftp(t, ssh('n1'));
    for (let round = 0; round < rounds; round++) {
      const contents = Array.from({ length: 6 }, (_, index) => `round ${round}, ${index} ${'x'.repeat(index * 1000)}`);
      const bySftp = async () => {
        const handle = await sftp.open(`new${round}`, openFlags.write | openFlags.create | openFlags.exclusive);
        const codes = [await sftp.write(handle, 0, 'by SFTP'), await sftp.close(handle)];
        return codes.every((code) => code === statusCodes.ok);
      };
      const [taken, replies] = await Promise.all([
        bySftp().catch(() => false),
        atBoth(pair, 6, (node, index) => node.put(`/home/new${round}`, contents[index] as string, { headers: { 'if-none-match': '*' } })),
      ]);
      const made = replies.flatMap(({ status }, index) => (status === 201 ? [contents[index]] : []));
      assert.equal(made.length + Number(taken), 1, `${statuses(replies)}, by SFTP ${taken}`);
      assert.equal(readFileSync(join(home, `new${round}`), 'utf8'), made[0] ?? 'by SFTP');
      assert.ok(
        replies.every(({ status }) => [201, 412, 423].includes(status)),
        String(statuses(replies)),
      );
    }
    const ended = [...(await pair.events(40017)), ...(await pair.events(30068))].filter(({ data }) => /^\/new/.test(String(data.path)));
    assert.equal(ended.length, rounds);
    client.end();
    await left;
  });

  await t.test('a folder, moves of one file to two names, moves of two files to one name', async () => {
    const { sftp, client, ended: left } = await loginSftp(t, ssh('n0'));
    for (let round = 0; round < rounds; round++) {
      assert.deepEqual(statuses(await atBoth(pair, 2, (node) => node.send('MKCOL', `/home/f${round}/`))), [201, 405]);
      for (const name of ['m', 'p0', 'p1', 's0', 's1']) writeFileSync(join(home, `f${round}`, name), name);
      for (const name of ['g0', 'g1']) {
        mkdirSync(join(home, `f${round}`, name));
        writeFileSync(join(home, `f${round}`, name, name), name);
      }
      const move = (node: Client, source: string, target: string, method = 'MOVE') =>
        node.send(method, `/home/f${round}/${source}`, {
          headers: { destination: `${node.url}/home/f${round}/${target}`, overwrite: 'F' },
        });
      const away = await atBoth(pair, 2, (node, index) => move(node, 'm', `m${index}`));
      const onto = await atBoth(pair, 2, (node, index) => move(node, `p${index}`, 'q'));
      assert.deepEqual(
        [statuses(away), statuses(onto)],
        [
          [201, 404],
          [201, 412],
        ],
      );
      assert.deepEqual(statuses(await atBoth(pair, 2, (node, index) => move(node, `s${index}`, 'c', 'COPY'))), [201, 412]);
      const folders = await atBoth(pair, 2, (node, index) => move(node, `g${index}`, 'g'));
      assert.deepEqual(statuses(folders), [201, 412]);
      const taken = folders.findIndex(({ status }) => status === 201);
      assert.deepEqual(readdirSync(join(home, `f${round}`, 'g')), [`g${taken}`]);
      const [byMove, bySftp] = await Promise.all([move(here, 's0', 'z'), sftp.rename(`f${round}/s1`, `f${round}/z`)]);
      assert.equal(Number(byMove.status === 201) + Number(bySftp === statusCodes.ok), 1, `${byMove.status}, by SFTP ${bySftp}`);
      const left = readdirSync(join(home, `f${round}`)).sort();
      const [moved, stays] = [away.findIndex(({ status }) => status === 201), onto.findIndex(({ status }) => status === 412)];
      const unmoved = byMove.status === 201 ? 's1' : 's0';
      assert.deepEqual(left, ['c', 'g', `g${1 - taken}`, `m${moved}`, `p${stays}`, 'q', unmoved, 'z']);
      assert.equal(readFileSync(join(home, `f${round}`, 'q'), 'utf8'), `p${1 - stays}`);
    }
    client.end();
    await left;
  });

  await t.test('the last piece of one upload of tus: one ends it, with one event', async () => {
    const outcomes = new Set<string>();
    for (let round = 0; round < rounds; round++) {
      const created = await createTus(here, { filename: `tus${round}` });
      const url = String(created.headers.location);
      const replies = await atBoth(pair, round % 2 === 0 ? 2 : 4, (node) => fillTus(node, url).catch(() => undefined));
      const told = replies.map((reply) => reply?.status ?? 0);
      assert.ok(told.filter((status) => status === 204).length <= 1, String(told));
      // Each newer piece cuts an older one, whose client asks where to go on.
      const { headers } = await there.send('HEAD', url, { headers: { 'tus-resumable': '1.0.0' } });
      if (headers['upload-offset'] === '0') assert.equal((await fillTus(there, url)).status, 204);
      else assert.equal(headers['upload-offset'], '3');
      outcomes.add(told.sort().join(' '));
      assert.equal(readFileSync(join(home, `tus${round}`), 'utf8'), 'new');
    }
    t.diagnostic(`last pieces at once: ${[...outcomes].join(', ')}`);
    const ended = (await pair.events(40017)).filter(({ data }) => /^\/tus/.test(String(data.path)));
    assert.equal(ended.length, rounds);
    assert.deepEqual(
      hidden(home).filter((name) => !name.startsWith('.svc-trash')),
      [],
    );
  });

  await t.test('a link for one download: one gets it', async () => {
    writeFileSync(join(home, 'once'), 'once');
    for (let round = 0; round < rounds; round++) {
      const link = await makeLink(here, { path: '/once', maximum_downloads: 1 });
      const replies = await atBoth(pair, 6, (node) => visit(node, 'GET', link.at));
      assert.deepEqual(statuses(replies), [200, 410, 410, 410, 410, 410]);
      assert.equal(replies.filter(({ text }) => text === 'once').length, 1);
    }
  });

  await t.test('an upload that is held: released at one, discarded at the other, withdrawn by its account', async () => {
    for (let round = 0; round < 10; round++) {
      assert.equal((await here.put(`/home/d/h${round}`, 'odd')).status, 202);
      const { held } = (await there.send('GET', '/home/__svc__/held/')).json<{ held: HeldItem[] }>();
      const id = held[0]?.id ?? '';
      const [released, discarded, withdrawn] = await Promise.all([
        askHeld(join(folder, 'n0'), 'release', [id], 'op', undefined),
        askHeld(join(folder, 'n1'), 'discard', [id], 'op', undefined),
        there.send('DELETE', `/home/__svc__/held/${id}`),
      ]);
      const done = [released[0]?.error === undefined, discarded[0]?.error === undefined, withdrawn.status === 204];
      assert.equal(done.filter(Boolean).length, 1, JSON.stringify([released, discarded, withdrawn.status]));
      assert.equal(existsSync(join(home, 'd', `h${round}`)), done[0]);
    }
    assert.deepEqual(hidden(join(home, 'd')), []);
  });

  await t.test('one item of the trash restored at both, one file deleted at both', async () => {
    for (let round = 0; round < 10; round++) {
      writeFileSync(join(home, `t${round}`), 't');
      assert.deepEqual(statuses(await atBoth(pair, 2, (node) => node.send('DELETE', `/home/t${round}`))), [204, 404]);
      const items = (await trashOf(here)).filter(({ path }) => path === `/t${round}`);
      assert.equal(items.length, 1);
      const restored = await atBoth(pair, 2, (node) => node.send('POST', `/home/__svc__/trash/${items[0]?.id}/restore`));
      assert.equal(restored.filter(({ status }) => status === 201).length, 1);
      assert.ok(
        restored.every(({ status }) => [201, 404, 409].includes(status)),
        String(statuses(restored)),
      );
      assert.deepEqual(
        visible(home).filter((name) => name.startsWith(`t${round}`)),
        [`t${round}`],
      );
    }
  });

  await t.test('a lock: taken once; at the other node no door changes the file', async () => {
    for (let round = 0; round < rounds; round++) {
      writeFileSync(join(home, `l${round}`), 'locked');
      assert.deepEqual(statuses(await atBoth(pair, 4, (node) => lock(node, `/home/l${round}`))), [200, 423, 423, 423]);
    }
    const to = (node: Client, path: string) => ({ headers: { destination: `${node.url}${path}` } });
    writeFileSync(join(home, 'free'), 'free');
    for (const node of [here, there]) {
      const refused = [
        await node.put('/home/l0', 'x'),
        await node.send('DELETE', '/home/l0'),
        await node.send('MOVE', '/home/l0', to(node, '/home/elsewhere')),
        await node.send('MOVE', '/home/free', to(node, '/home/l0')),
        await node.send('COPY', '/home/free', to(node, '/home/l0')),
        await createTus(node, { filename: 'l0' }),
      ];
      assert.deepEqual(statuses(refused), [423, 423, 423, 423, 423, 423]);
    }
    const { sftp } = await loginSftp(t, ssh('n1'));
    assert.equal(await sftp.rename('l0', 'elsewhere'), statusCodes.permissionDenied);
    assert.notEqual(await sftp.rename('free', 'l0'), statusCodes.ok);
    assert.equal(await sftp.onPath(packetTypes.remove, 'l0'), statusCodes.permissionDenied);
    await assert.rejects(sftp.put('l0', 'x'));
    assert.equal(readFileSync(join(home, 'l0'), 'utf8'), 'locked');
  });

  await t.test('logins over SSH: of ten at once no more than two are in', async () => {
    await until('the connections before have ended', async () => {
      const attempts = await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          tryLogins(t, ssh(index % 2 === 0 ? 'n0' : 'n1'), [{ type: 'password', username: 'bob', password: testPassword }]),
        ),
      );
      const clients = attempts.flatMap(({ client }) => client ?? []);
      assert.ok(clients.length <= 2, `${clients.length} are in`);
      return clients.length === 2;
    });
  });
});

test('a quota that both nodes fill at once: each keeps to it, so together they exceed it by no more than it is', {
  timeout: 110_000,
}, async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const quota = 1_000_000;
  const pair = await startPair(t, 0, { quota_size: quota }, {});
  const body = randomBytes(50_000);
  const replies = await atBoth(pair, 80, (node, index) => node.put(`/home/q${index}`, body));
  assert.deepEqual([...new Set(statuses(replies))], [201, 507]);
  const kept = visible(pair.home).reduce((sum, name) => sum + statSync(join(pair.home, name)).size, 0);
  t.diagnostic(`two nodes took in ${kept} bytes of a quota of ${quota}`);
  assert.equal(kept, replies.filter(({ status }) => status === 201).length * body.length);
  assert.ok(kept <= 2 * quota);
});

test('orders and values that somebody writes into Redis: no node ends, no file changes, none is let in by a guess', {
  timeout: 110_000,
}, async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const pair = await startPair(t, 0, {}, {});
  const { redis, here, there, home, nodes } = pair;
  writeFileSync(join(home, 'a'), 'A');
  const session = await here.login();
  const keys = (await redis.command("EVAL \"return table.concat(redis.call('KEYS','*'),' ')\" 0")).split('\r\n')[1]?.split(' ') ?? [];
  assert.ok(keys.length > 3, String(keys));
  t.diagnostic(`keys: ${keys.join(' ')}`);
  assert.ok(!keys.join(' ').includes(session), 'the key of a session is none');
  const uuids = [...new Set(keys.flatMap((key) => key.match(/[0-9a-f]{8}-[0-9a-f-]{27}/g) ?? []))];
  for (const uuid of uuids)
    for (const order of ['reload', 'stop', 'exec', 'release', 'replay-cancel'])
      await redis.command(
        `RPUSH {svc}:node-questions:${uuid} ${JSON.stringify(JSON.stringify({ id: '0b5cad00-1111-4222-8333-000000000001', kind: order, path: '/a', replay: '../../x', from: uuid }))}`,
      );
  // A login of nobody, and a session whose record is another account's.
  await redis.command('HSET {svc}:logins:web:forged identity {} account alice');
  for (const node of [here, there]) assert.equal((await node.get('/home/a', within('forged'))).status, 401);
  for (const node of [here, there])
    for (let index = 0; index < 20; index++)
      assert.equal((await node.get('/home/a', within(randomBytes(32).toString('base64url')))).status, 401);
  await until('both go on', async () =>
    statuses([await here.get('/home/a'), await there.get('/home/a')]).every((status) => status === 200),
  );
  assert.deepEqual(visible(home), ['a']);
  for (const { running } of nodes) assert.equal(running.child.exitCode, null, running.stderr());
});

test('two workers of one server: guesses, one name, one link and a logout', { timeout: 170_000 }, async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const svc = await startSupervised(t, 2, {
    server: { security_policy: { ban_after_failures: 5, ban_seconds: 600 } },
    service: { client_forwarded_header: 'X-Forwarded-For' },
  });
  await svc.ready(2);
  const many = <Reply>(count: number, request: (index: number) => Promise<Reply>) =>
    Promise.all(Array.from({ length: count }, (_, index) => request(index)));
  const { guesses, inTheMiddle } = await guessAtOnce([svc], 60, '203.0.113.1', testUser);
  assert.deepEqual(countStatuses(guesses), { 401: 5, 429: 55 });
  assert.equal(inTheMiddle?.status, 429);
  writeFileSync(join(svc.home, 'once'), 'once');
  for (let round = 0; round < rounds; round++) {
    const made = await many(6, (index) => svc.put(`/home/w${round}`, `by ${index}`, { headers: { 'if-none-match': '*' } }));
    assert.equal(made.filter(({ status }) => status === 201).length, 1, String(statuses(made)));
    assert.equal(readFileSync(join(svc.home, `w${round}`), 'utf8'), `by ${made.findIndex(({ status }) => status === 201)}`);
    const link = await makeLink(svc, { path: '/once', maximum_downloads: 1 });
    assert.deepEqual(statuses(await many(6, () => visit(svc, 'GET', link.at))), [200, 410, 410, 410, 410, 410]);
    const session = await svc.login();
    await Promise.all([
      svc.send('POST', '/__svc__/logout', within(session, { body: '' })),
      many(4, () => svc.get('/home/once', within(session))),
    ]);
    assert.deepEqual([...new Set(statuses(await many(6, () => svc.get('/home/once', within(session)))))], [401]);
  }
  assert.equal(await svc.count(40017), rounds);
  assert.equal(await svc.stop(), 0);
});
