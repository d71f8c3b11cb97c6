import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startServer } from '../support/server.ts';

const lines = { accept: 'application/x-ndjson' };

test('a search covers a folder and all folders below it', async (t) => {
  const rules = [
    ['allow-read', 'allow-list'],
    ['/Secret*', 'allow-read'],
    ['/Ways', 'allow-traverse'],
    ['/Gone*', 'allow-write'],
  ];
  const server = await startServer(t, { account: { permissions: rules } });
  for (const folder of ['a/b/Rapport Été', 'Secret', 'Ways/report', 'Gone', 'many'])
    mkdirSync(join(server.home, folder), { recursive: true });
  for (const file of [
    'REPORT.txt',
    'a/b/my report.pdf',
    'a/b/Rapport Été/x.bin',
    'Secret/report.txt',
    'Ways/report.txt',
    'other.txt',
    'a/straße <b>.txt',
  ])
    writeFileSync(join(server.home, file), 'x');
  writeFileSync(join(server.home, `.svc-${'a1'.repeat(12)}.part`), 'x');
  symlinkSync('..', join(server.home, 'a/report-link'));
  const found = async (path: string) => {
    const { status, text, headers } = await server.get(path, { headers: lines });
    assert.equal(status, 200, text);
    assert.match(String(headers['content-type']), /^application\/x-ndjson/);
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  };
  const paths = async (path: string) => (await found(path)).map((entry) => entry.path);

  await t.test(
    'near results come first; case does not matter; hidden and forbidden items are left out; links are found, but not followed',
    async () => {
      assert.deepEqual(await paths('/home/?search=report'), ['/REPORT.txt', '/Ways/report', '/a/report-link', '/a/b/my report.pdf']);
      assert.deepEqual(await paths('/home/a/b/?search=%C3%A9T%C3%A9'), ['/a/b/Rapport Été']);
      assert.deepEqual(await paths('/home/a/?search=E%CC%81t'), ['/a/b/Rapport Été'], 'decomposed characters are the same');
      assert.deepEqual(await paths('/home/?search=STRASSE'), ['/a/straße <b>.txt']);
      assert.deepEqual(await paths('/home/?search=nothing'), []);
      assert.deepEqual(await paths('/home/?search=.svc-'), [], 'an upload under way is hidden');
      const [entry] = await found('/home/?search=REPORT.t');
      assert.deepEqual({ ...entry, modified: 0 }, { path: '/REPORT.txt', name: 'REPORT.txt', is_directory: false, modified: 0, size: 1 });
    },
  );

  await t.test('a search has an event; a folder that may not be listed is refused; an empty search gives the listing', async () => {
    const events = await server.events();
    assert.ok(events.some((event) => event.id === '40007' && event.data.search === 'report' && event.data.path === '/'));
    for (const path of ['/home/Secret/?search=report', '/home/Gone/?search=report'])
      assert.equal((await server.get(path, { headers: lines })).status, 403, path);
    assert.equal((await server.get('/home/missing/?search=report', { headers: lines })).status, 404);
    const { text } = await server.get('/home/?search=+', { headers: { accept: 'application/json' } });
    assert.ok((JSON.parse(text) as { content: unknown[] }).content.length > 0);
  });

  await t.test('the page has links to each result and its folder, or says that there are no results', async () => {
    const page = async (query: string) => (await server.get(`/home/?search=${query}`, { headers: { accept: 'text/html' } })).text;
    const text = await page('stra%C3%9Fe');
    assert.match(text, /href="\/home\/a\/stra%C3%9Fe%20%3Cb%3E.txt"><bdi><mark>straße<\/mark> &lt;b&gt;.txt/);
    assert.match(text, /href="\/home\/a\/"><bdi>\/a</);
    assert.match(text, /One item was found\./);
    const none = await page('%22%3E%3Cscript%3E');
    assert.match(none, /Nothing found for “&quot;&gt;&lt;script&gt;”/);
    assert.match(none, /Try a shorter part of the name\.</, 'there is no folder further up');
    assert.ok(!none.includes('<script>'), 'the search text is shown as plain text');
  });

  await t.test('at most a thousand results are returned, and the last line says so', async () => {
    for (let index = 0; index < 1001; index++) writeFileSync(join(server.home, 'many', `n${index}.log`), '');
    const all = await found('/home/?search=.log');
    assert.equal(all.length, 1001);
    assert.deepEqual(
      all.slice(0, 1000).map(({ name }) => name),
      Array.from({ length: 1000 }, (_, index) => `n${index}.log`),
      'the first thousand in natural order',
    );
    assert.deepEqual(all.at(-1), { truncated: true });
    const { text } = await server.get('/home/?search=.log', { headers: { accept: 'text/html' } });
    assert.match(text, /1,000 items were found\./);
    assert.match(text, /there may be more/);
    assert.equal((await found('/home/?search=n1000.log')).length, 1);
  });
});
