import assert from 'node:assert/strict';
import { test } from 'node:test';
import { watchBegins, watchedForDays } from '../support/expectations.ts';
import { cheapHash } from '../support/passwords.ts';
import { testPassword } from '../support/secrets.ts';
import { startServer } from '../support/server.ts';

const url = '/home/__svc__/expectations';

test('an account whose group has show_expectations sees its own expectations and those of its group; other accounts get 403', async (t) => {
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
      // Occurrences from before the expectation (`last`) are judged separately, so one file counts for `last` and for `next`.
      ['own', 'Orders', 'met', 'met', ['/a.csv']],
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

test('the page needs no scripts, names no file of other accounts, and shows hostile names as text, in four languages', async (t) => {
  const password = await cheapHash(testPassword);
  const daily = { every: '1d', opens: '2d' };
  const server = await startServer(t, {
    groups: { PARTNERS: { home_folder_path: '.', show_expectations: true } },
    account: { group: 'PARTNERS' },
    accounts: { bob: { password, group: 'PARTNERS' }, carol: { password } },
    expectations: {
      ofGroup: { ...daily, group: 'PARTNERS', path: '/*.csv', grace: '1d', name: '<b>Orders</b>' },
      missing: { ...daily, account: 'alice', path: '/bills-{yyyy}{MM}{dd}.pdf', name: 'Bills' },
    },
  });
  const html = { accept: 'text/html' };
  await watchBegins(server);
  assert.doesNotMatch(
    (await server.get(url, { headers: html })).text,
    /state missing/,
    'a file that was due before the server started is not missing',
  );
  await watchedForDays(server, ['missing']);
  await server.put('/home/alices<i>.csv', 'x');
  await server.put('/home/bobs.csv', 'x', { user: `bob:${testPassword}` });
  const page = await server.get(url, { headers: html });
  assert.equal(page.status, 200);
  assert.match(page.text, /&lt;b&gt;Orders&lt;\/b&gt;/);
  assert.match(page.text, /href="\/home\/alices%3Ci%3E\.csv"/);
  assert.match(page.text, /in time[\s\S]*Bills[\s\S]*<strong class="state missing">missing<\/strong>/);
  assert.match(
    page.text,
    /Next due: .* UTC<\/span> &middot; <code><bdi>\/bills-20\d{6}\.pdf<\/bdi><\/code>/,
    'the path has the date when the file is due',
  );
  assert.doesNotMatch(page.text, /bobs|<b>|<i>/);
  assert.doesNotMatch((await server.get(url)).text, /bobs/);
  for (const [language, words] of [
    ['de', 'fehlt'],
    ['fr', 'manquant'],
    ['es', 'falta'],
  ] as const) {
    const { text } = await server.get(url, { headers: { ...html, 'accept-language': language } });
    assert.ok(text.includes(`>${words}</strong>`) && text.includes(`lang="${language}"`), language);
  }
  assert.match(
    (await server.get('/home/', { headers: html })).text,
    /<a class="button quiet to-place" href="\/home\/__svc__\/expectations"/,
  );
  const other = { user: `carol:${testPassword}`, headers: html };
  assert.doesNotMatch((await server.get('/home/', other)).text, /__svc__\/expectations/);
  assert.equal((await server.get(url, other)).status, 403);
});
