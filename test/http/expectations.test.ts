import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cheapHash } from '../support/passwords.ts';
import { testPassword } from '../support/secrets.ts';
import { startServer } from '../support/server.ts';

const url = '/home/__svc__/expectations';

test('an account with show_expectations sees those of its own and of its group, and no other does', async (t) => {
  const password = await cheapHash(testPassword);
  const daily = { every: '1d', opens: '2d', grace: '1d' };
  const server = await startServer(t, {
    groups: { PARTNERS: { home_folder_path: '.', show_expectations: true }, STAFF: { home_folder_path: '.' } },
    account: { group: 'PARTNERS' },
    accounts: { bob: { password, group: 'PARTNERS' }, carol: { password, group: 'STAFF' } },
    expectations: {
      own: { ...daily, account: 'alice', path: '/*.csv', name: 'Orders' },
      ofGroup: { ...daily, group: 'PARTNERS', path: '/never' },
      ofBob: { ...daily, account: 'bob', path: '/*' },
      ofAny: { ...daily, path: '/*' },
      off: { ...daily, account: 'alice', path: '/*', enabled: false },
    },
  });
  await server.put('/home/a.csv', 'x');
  interface Told {
    expectations: { expectation: string; name: string; last: { state: string; files: { path: string }[] }; next: { state: string } }[];
  }
  const { expectations } = (await server.get(url)).json<Told>();
  assert.deepEqual(
    expectations.map(({ expectation, name, last, next }) => [
      expectation,
      name,
      last.state,
      next.state,
      last.files.map(({ path }) => path),
    ]),
    [
      ['own', 'Orders', 'met', 'waiting', ['/a.csv']],
      ['ofGroup', 'ofGroup', 'waiting', 'waiting', []],
    ],
  );
  const ofBob = (await server.get(url, { user: `bob:${testPassword}` })).json<Told>();
  assert.deepEqual(
    ofBob.expectations.map(({ expectation }) => expectation),
    ['ofGroup', 'ofBob'],
  );
  assert.equal((await server.get(url, { user: `carol:${testPassword}` })).status, 403);
  assert.equal((await server.get(url, { user: null, headers: { accept: 'application/json' } })).status, 401);
  assert.equal((await server.send('DELETE', url)).status, 405);
});
