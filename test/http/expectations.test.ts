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
  assert.match(page.text, /in time[\s\S]*Bills<\/bdi> <strong class="state missing">missing<\/strong>/, 'the state is beside the name');
  assert.match(
    page.text,
    /Next due: .* UTC<\/span><span class="dot">&nbsp;&middot; <\/span><a href="\/home\/"><code><bdi>\/bills-20\d{6}\.pdf<\/bdi><\/code><\/a>/,
    'the path has the date when the file is due, and leads to its folder',
  );
  assert.match(page.text, /<a class="button" href="\/home\/" aria-label="Upload: Bills">/);
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

test('only accounts that may list the folder get a link to it, and only those that may write get the button for an upload', async (t) => {
  const server = await startServer(t, {
    groups: {
      READERS: { home_folder_path: '.', show_expectations: true, permissions: [['allow-read', 'allow-list', 'allow-traverse']] },
      SENDERS: { home_folder_path: '.', show_expectations: true, permissions: [['allow-write']] },
    },
    account: { group: 'READERS' },
    accounts: { bob: { password: await cheapHash(testPassword), group: 'SENDERS' } },
    expectations: {
      read: { every: '1d', account: 'alice', path: '/a-*.csv' },
      away: { every: '1d', account: 'alice', path: '/away/*' },
      sent: { every: '1d', account: 'bob', path: '/in/b-*.csv' },
    },
  });
  const page = async (user?: string) => (await server.get(url, { headers: { accept: 'text/html' }, ...(user && { user }) })).text;
  const own = await page();
  assert.match(own, /<a href="\/home\/"><code><bdi>\/a-\*\.csv<\/bdi><\/code><\/a>/);
  assert.match(own, /<span class="dot">&nbsp;&middot; <\/span><code><bdi>\/away\/\*</, 'a folder that does not exist is no link');
  assert.doesNotMatch(own, /aria-label="Upload/);
  const ofBob = await page(`bob:${testPassword}`);
  assert.match(ofBob, /<span class="dot">&nbsp;&middot; <\/span><code><bdi>\/in\/b-\*\.csv/);
  assert.match(ofBob, /<a class="button" href="\/home\/in\/" aria-label="Upload: sent">/);
});
