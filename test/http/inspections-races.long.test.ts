import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openFlags, statusCodes } from '../../src/ssh/sftp/packets/packets.ts';
import type { TestRequest } from '../support/client.ts';
import { inspectedDoors } from '../support/inspected-doors.ts';
import { heldOf, hidden, inspecting, visible } from '../support/inspecting.ts';
import { cheapHash } from '../support/passwords.ts';
import { until } from '../support/receiver.ts';
import { testPassword } from '../support/secrets.ts';
import type { TestServer } from '../support/server.ts';
import { loginSftp } from '../support/sftp-client.ts';

const bobUser = `bob:${testPassword}`;

/** Returns the same server for another account with the same home folder. */
function asBob(server: TestServer): TestServer {
  const send = (method: string, path: string, options: TestRequest = {}) => server.send(method, path, { ...options, user: bobUser });
  return Object.assign(Object.create(server), { send });
}

function shown(home: string): string {
  try {
    return readFileSync(join(home, 'd/name'), 'utf8');
  } catch {
    return '';
  }
}

const doors = Object.entries(inspectedDoors);

for (const [index, [door, send]] of doors.entries()) {
  const [otherDoor, otherSend] = doors[(index + 1) % doors.length] as (typeof doors)[number];

  test(`two accounts race for a name by ${door} and ${otherDoor}: refused or held content is never visible`, async (t) => {
    const server = await inspecting(t, {}, { accounts: { bob: { password: await cheapHash(testPassword) } } });
    const bob = asBob(server);
    const outcomes: string[] = [];
    for (const [mine, theirs] of [
      ['bad', 'fine'],
      ['fine', 'bad'],
      ['odd', 'fine'],
      ['bad', 'odd'],
      ['fine 1', 'fine 2'],
    ] as const) {
      let isOver = false;
      const look = async () => {
        while (!isOver) {
          assert.doesNotMatch(shown(server.home), /bad|odd/);
          assert.doesNotMatch((await server.get('/home/d/name')).text, /^(bad|odd)/);
        }
      };
      const looking = look();
      const replies = await Promise.all([send(server, 'name', mine, 'mine'), otherSend(bob, 'name', theirs, 'theirs')]);
      isOver = true;
      await looking;
      for (const [at, content] of [mine, theirs].entries()) {
        const status = replies[at]?.status ?? 0;
        // A move that lost the race can be refused because the name is taken.
        if (content === 'bad') assert.ok(status >= 400, `${content}: ${status}`);
        if (content === 'odd') assert.ok(status === 202 || status >= 400, `${content}: ${status}`);
        outcomes.push(`${content}: ${status}`);
      }
      const allowed = ['', 'fine', 'fine 1', 'fine 2'];
      assert.ok(allowed.includes(shown(server.home)), shown(server.home));
    }
    assert.ok(
      outcomes.some((outcome) => /^fine.*: 20[014]$/.test(outcome)),
      outcomes.join(),
    );
    const kept = async () => (await heldOf(server)).length + (await bobHeld(bob));
    await until('only held files are left hidden', async () => hidden(join(server.home, 'd')).length === (await kept()));
    assert.ok(visible(join(server.home, 'd')).every((name) => name === 'name'));
  });
}

test('SFTP, tus and PUT of two accounts race for a name: refused or held content is never visible', async (t) => {
  const accounts = { bob: { password: await cheapHash(testPassword) } };
  const services = { web: { type: 'http', port: 0 }, sftp: { type: 'ssh', port: 0 } };
  const server = await inspecting(t, {}, { accounts, services });
  const port = Number(new URL(server.service.listening().find(({ uuid }) => uuid === 'sftp')?.url ?? '').port);
  const { sftp } = await loginSftp(t, port);
  const overSftp = async (content: string) => {
    const handle = await sftp.open('d/name', openFlags.write | openFlags.create | openFlags.truncate);
    await sftp.write(handle, 0, content);
    return (await sftp.close(handle)) === statusCodes.ok;
  };
  const overTus = async (content: string) => {
    const headers = {
      'tus-resumable': '1.0.0',
      'upload-length': String(content.length),
      'upload-metadata': `filename ${Buffer.from('name').toString('base64')}`,
      'content-type': 'application/offset+octet-stream',
    };
    const url = '/home/__svc__/uploads/?folder=%2Fd&on_existing=replace';
    return (await server.send('POST', url, { user: bobUser, headers, body: content })).status < 300;
  };
  const byPut = async (content: string) => (await server.put('/home/d/name', content, { user: bobUser })).status < 300;
  const accepted: string[] = [];
  for (const theirs of [overTus, byPut])
    for (const [here, there] of [
      ['bad', 'fine 1'],
      ['fine 2', 'bad'],
      ['odd', 'fine 3'],
      ['fine 4', 'odd'],
      ['fine 5', 'fine 6'],
    ] as const) {
      let isOver = false;
      const look = async () => {
        while (!isOver) {
          assert.doesNotMatch(shown(server.home), /bad|odd/);
          await new Promise(setImmediate);
        }
      };
      const looking = look();
      const [mine, other] = await Promise.all([overSftp(here), theirs(there)]);
      isOver = true;
      await looking;
      assert.equal(mine && here === 'bad', false);
      assert.equal(other && there === 'bad', false);
      if (mine) accepted.push(here);
      if (other) accepted.push(there);
      assert.match(shown(server.home), /^(?:fine \d)?$/);
    }
  assert.ok(accepted.filter((content) => content.startsWith('fine')).length >= 6, accepted.join());
  assert.ok(visible(join(server.home, 'd')).every((name) => name === 'name'));
});

async function bobHeld(bob: TestServer): Promise<number> {
  return (await bob.send('GET', '/home/__svc__/held/')).json<{ held: unknown[] }>().held.length;
}
