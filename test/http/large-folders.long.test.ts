import assert from 'node:assert/strict';
import fs, { linkSync, mkdirSync, unlinkSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { openBelow } from '../support/open-files.ts';
import { until } from '../support/receiver.ts';
import { testBasic } from '../support/secrets.ts';
import { startServer, type TestServer } from '../support/server.ts';

/** Enough for sorting in several runs, and for more than one page. */
const entries = 20_000;

const kinds = {
  JSON: { accept: 'application/json' },
  page: { accept: 'text/html' },
  'compressed page': { accept: 'text/html', 'accept-encoding': 'gzip' },
  PROPFIND: { depth: '1' },
};

/** Starts a server with a large folder `many`, whose files are all hard links to one file. */
async function startLarge(t: TestContext): Promise<TestServer> {
  const server = await startServer(t);
  const file = join(server.folder, 'file');
  writeFileSync(file, '');
  mkdirSync(join(server.home, 'many'));
  for (let index = 0; index < entries; index++) linkSync(file, memberAt(server, index));
  return server;
}

/** Long names make the folder itself so large that its names are read in blocks. */
function nameAt(index: number): string {
  return `file ${index} `.padEnd(220, '-');
}

function memberAt(server: TestServer, index: number): string {
  return join(server.home, 'many', nameAt(index));
}

/** Counts how often the server in this process reads the attributes of a member. */
function countLooks(t: TestContext): () => number {
  const { lstatSync } = fs;
  let count = 0;
  Object.assign(fs, {
    lstatSync: (...args: Parameters<typeof lstatSync>) => {
      count++;
      return lstatSync(...args);
    },
  });
  syncBuiltinESMExports();
  t.after(() => {
    Object.assign(fs, { lstatSync });
    syncBuiltinESMExports();
  });
  return () => count;
}

/** Requests the listing. @returns the reply once its first bytes have arrived; they can still be read from it */
function begin(server: TestServer, headers: Record<string, string>): Promise<IncomingMessage> {
  const method = 'depth' in headers ? 'PROPFIND' : 'GET';
  return new Promise((resolve, reject) => {
    const asked = request(`${server.url}/home/many/`, { method, headers: { authorization: testBasic, ...headers } }, (reply) => {
      reply.once('readable', () => resolve(reply));
    });
    asked.on('error', reject).end();
  });
}

async function textOf(reply: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of reply) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  return (reply.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString();
}

test('a large folder', async (t) => {
  const server = await startLarge(t);
  await t.test('the first bytes of a listing arrive before all members are read, and the reading stops if the client leaves', async (t) => {
    const looks = countLooks(t);
    for (const [kind, headers] of Object.entries(kinds)) {
      let before = looks();
      const reply = await begin(server, headers);
      assert.ok(looks() - before < entries, `${kind}: ${looks() - before} entries were looked at before the first byte`);
      const text = await textOf(reply);
      assert.ok(looks() - before >= entries, kind);
      if (kind === 'JSON' || kind === 'PROPFIND') assert.ok(/file(%20| )12999/.test(text), kind);
      before = looks();
      const left = await begin(server, headers);
      left.on('error', () => {}).destroy();
      await until(`${kind}: the folder is closed`, () => openBelow(server.home).length === 0);
      assert.ok(looks() - before < entries, `${kind}: ${looks() - before} entries were read after the client left`);
    }
    assert.equal((await server.eventIds()).includes(40003), false);
  });

  await t.test('a page shows 10,000 rows of a larger folder in the requested order, and has links to the other pages', async () => {
    const names = async (query: string) => {
      const { text } = await server.get(`/home/many/${query}&rows=all`, { headers: kinds.page });
      const below = text.slice(text.indexOf('</table>'), text.indexOf('</nav>', text.indexOf('</table>')));
      return { below, names: [...text.matchAll(/name=selected-members value="([^"]+)"/g)].map((match) => match[1]) };
    };
    const all = Array.from({ length: entries }, (_, index) => nameAt(index));
    const order = '?sort=name&order=desc&folders=first';
    const [first, second, beyond] = [await names(order), await names(`${order}&page=2`), await names('?page=99')];
    assert.deepEqual([...first.names, ...second.names], all.reverse());
    assert.equal(first.names.length, 10_000);
    assert.match(first.below, /20,000 items<nav class="pages"/);
    assert.match(first.below, /rel="next" href="\?sort=name&amp;order=desc&amp;folders=first&amp;page=2"/);
    assert.doesNotMatch(first.below, /rel="prev"/);
    assert.match(second.below, /rel="prev" href="[^"]*&amp;page=1"/);
    assert.doesNotMatch(second.below, /rel="next"/);
    assert.deepEqual(beyond.names, []);
    assert.match(beyond.below, /rel="prev" href="[^"]*&amp;page=2"/);
    assert.equal((await names('?page=<script>')).names.length, 10_000);
  });

  await t.test('the page of a large folder first has 20 rows; scripts get all rows as lines, other browsers as a page', async () => {
    const query = '?sort=name&order=desc&page=2';
    const { text } = await server.get(`/home/many/${query}`, { headers: kinds.page });
    const rows = [...text.matchAll(/name=selected-members value="([^"]+)"/g)].map((match) => match[1]);
    assert.equal(rows.length, 20);
    assert.match(
      text,
      /<head>[\s\S]*<noscript><meta http-equiv="refresh" content="0; url=\?sort=name&amp;order=desc&amp;page=2&amp;rows=all"><\/noscript>/,
    );
    assert.match(text, /id="count" data-rows="10000"/);
    const reply = await server.get(`/home/many/${query}&rows=lines`, { headers: { accept: 'application/x-ndjson' } });
    assert.equal(reply.headers['content-type'], 'application/x-ndjson');
    const lines = reply.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as [string, string, number, number]);
    assert.equal(lines.length, 10_000);
    const names = lines.map(([name]) => name);
    assert.deepEqual(names.slice(0, rows.length), rows);
    assert.equal(names.at(-1), nameAt(0));
    assert.deepEqual(lines[0]?.slice(1, 3), ['file', 0]);
    const after = await server.get('/home/many/', { headers: { ...kinds.page, cookie: 'SVC_FLASH=uploaded-2' } });
    assert.match(after.text, /2 files were uploaded/);
    assert.doesNotMatch(after.text, /http-equiv="refresh"/, 'the page of the form shows its result');
  });

  await t.test('a search checks at most 10,000 names a second, and ends if its client leaves', async (t) => {
    const looks = countLooks(t);
    const path = '/home/many/?search=FILE%2012345';
    const startMs = performance.now();
    const { text } = await server.get(path, { headers: { accept: 'application/x-ndjson' } });
    const tookMs = performance.now() - startMs;
    assert.equal((JSON.parse(text) as { name: string }).name, nameAt(12_345));
    assert.ok(tookMs >= (looks() / 10_000 - 1) * 1000 - 50, `${looks()} names in ${tookMs.toFixed(0)} ms`);
    const before = looks();
    const left = request(server.url + path, { headers: { authorization: testBasic, accept: 'application/x-ndjson' } });
    left.on('error', () => {}).end();
    await until('the search has begun', () => looks() - before > 300);
    left.destroy();
    await until('the folder is closed', () => openBelow(server.home).length === 0);
    assert.ok(looks() - before < entries, `${looks() - before} names were read after the client left`);
  });

  await t.test('a folder that changes while it is listed is listed in order, with all members that stayed', async () => {
    const reply = await begin(server, kinds.JSON);
    for (let index = 0; index < entries; index += 2) unlinkSync(memberAt(server, index));
    for (let index = 0; index < 100; index++) writeFileSync(join(server.home, 'many', `new ${index}`), '');
    const { content } = JSON.parse(await textOf(reply)) as { content: { name: string }[] };
    const names = content.map(({ name }) => name);
    assert.deepEqual(names, [...new Set(names)].sort());
    const stayed = new Set(names);
    for (let index = 1; index < entries; index += 2) assert.ok(stayed.has(nameAt(index)), `file ${index}`);
  });
});
