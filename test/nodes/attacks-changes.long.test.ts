import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { askHeld } from '../../src/control/control-socket.ts';
import { openFlags, packetTypes, statusCodes } from '../../src/ssh/sftp/packets/packets.ts';
import type { Client } from '../support/client.ts';
import { createTus, fillTus } from '../support/doors.ts';
import { type HeldItem, hidden, visible } from '../support/inspecting.ts';
import { startInspector } from '../support/inspector.ts';
import { makeLink, visit } from '../support/links.ts';
import { atBoth, lock, rounds, startPair, statuses } from '../support/node-pair.ts';
import { until } from '../support/receiver.ts';
import { hasProgram } from '../support/requires.ts';
import { testPassword } from '../support/secrets.ts';
import { loginSftp } from '../support/sftp-client.ts';
import { tryLogins } from '../support/ssh.ts';
import { trashOf } from '../support/trash.ts';

test('concurrent changes of the same item at both nodes', { timeout: 170_000 }, async (t) => {
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

  await t.test('a name created by If-None-Match: * and by EXCL of SFTP: one succeeds, with its content and one event', async () => {
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

  await t.test('a new folder, moves of one file to two names, moves of two files to one name: one of two requests succeeds', async () => {
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

  await t.test('the last piece of a tus upload: the upload ends once, with one event', async () => {
    const outcomes = new Set<string>();
    for (let round = 0; round < rounds; round++) {
      const created = await createTus(here, { filename: `tus${round}` });
      const url = String(created.headers.location);
      const replies = await atBoth(pair, round % 2 === 0 ? 2 : 4, (node) => fillTus(node, url).catch(() => undefined));
      const told = replies.map((reply) => reply?.status ?? 0);
      assert.ok(told.filter((status) => status === 204).length <= 1, String(told));
      // Each newer request cuts off the older one. A client that was cut off asks for the offset, as here.
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

  await t.test('a shared link for one download: one client gets the file', async () => {
    writeFileSync(join(home, 'once'), 'once');
    for (let round = 0; round < rounds; round++) {
      const link = await makeLink(here, { path: '/once', maximum_downloads: 1 });
      const replies = await atBoth(pair, 6, (node) => visit(node, 'GET', link.at));
      assert.deepEqual(statuses(replies), [200, 410, 410, 410, 410, 410]);
      assert.equal(replies.filter(({ text }) => text === 'once').length, 1);
    }
  });

  await t.test('a held upload that is released, discarded and withdrawn concurrently: one action succeeds', async () => {
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

  await t.test('an item of the trash restored at both nodes, and a file deleted at both: one request succeeds', async () => {
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

  await t.test('one of four requests gets a lock; without its token, no request changes the file at any node', async () => {
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

  await t.test('with a limit of two SSH sessions for each account, at most two of ten concurrent logins succeed', async () => {
    await until('the earlier connections have ended', async () => {
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
