import assert from 'node:assert/strict';
import { appendFileSync, readFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { asReviewer, consoleService, reviewerPassword, startConsole } from '../support/console.ts';
import { heldOf } from '../support/inspecting.ts';
import { startInspector } from '../support/inspector.ts';
import { basicOf } from '../support/secrets.ts';
import { testConfig } from '../support/server.ts';

/** More than the buffers of a connection hold while its client does not read. */
const longBytes = 32 * 1024 * 1024;

async function startWithLongReplies(t: TestContext) {
  const inspector = await startInspector(t);
  const sections = { inspections: { check: { type: 'http', url: inspector.url } }, group: { inspections: [['check']] } };
  const { server, console } = await startConsole(t, sections);
  inspector.decide = () => ({ status: 202 });
  assert.equal((await server.put('/home/large', Buffer.alloc(longBytes))).status, 202);
  const [item] = await heldOf(server);
  const journal = join(server.folder, 'data/journal/events-00000001.ndjson');
  const [line = ''] = readFileSync(journal, 'utf8').split('\n');
  appendFileSync(journal, `${line.replace('"message":"', `"message":"${'x'.repeat(100_000)}`)}\n`.repeat(longBytes / 100_000));
  const begin = (target: string, headers: Record<string, string>) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = get(`${console.url}${target}`, { headers, agent: false }, (incoming) => {
        assert.equal(incoming.statusCode, 200);
        t.after(() => incoming.destroy());
        resolve(incoming);
      });
      outgoing.on('error', reject);
    });
  return { server, console, begin, sections, content: `/api/held/${item?.id}/content` };
}

test('a download of an administrator is cut when a reload removes their account, and after their logout', async (t) => {
  const { server, console, begin, sections, content } = await startWithLongReplies(t);
  const basic = { authorization: basicOf(asReviewer.user) };
  const asStream = { accept: 'application/x-ndjson' };
  /** Reads the rest of the replies, and asserts that each ends early. */
  const isCut = async (replies: IncomingMessage[], why: string) => {
    for (const incoming of replies) {
      const closed = new Promise((resolve) => incoming.on('error', () => {}).on('close', resolve));
      incoming.resume();
      await closed;
      assert.equal(incoming.complete, false, why);
    }
  };
  const session = await console.session('rita', reviewerPassword);
  const ofSession = [await begin(content, session), await begin('/api/events', { ...session, ...asStream })];
  await console.send('POST', '/api/logout', { headers: session });
  await isCut(ofSession, 'logged out');
  const ofBasic = [await begin(content, basic), await begin('/api/events', { ...basic, ...asStream })];
  const { rita: _, ...others } = (await consoleService()).administrators;
  const services = { web: { type: 'http', port: 0 }, console: await consoleService({ administrators: others }) };
  const { ended } = await server.service.reload(await testConfig(server.folder, { ...sections, services }));
  await isCut(ofBasic, 'removed');
  assert.equal(ended.transfers, 2);
});
