import assert from 'node:assert/strict';
import { browserTest, openBrowser } from '../support/browser.ts';
import { ConsoleClient, consoleService, signIn, startConsole } from '../support/console.ts';
import { endSessionAndLiftBan, failingReceiver, mendAndReplay, workConfig } from '../support/console-work.ts';
import { startNodes } from '../support/node-process.ts';
import { freePort, startRedis } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';

const expectedErrors = /401|INCOMPLETE_CHUNKED/;

browserTest('if a receiver fails, an operator reads the failed delivery, restarts the handler and replays the delivery', async (t) => {
  const receiver = await failingReceiver(t);
  const { server, console } = await startConsole(t, workConfig(receiver));
  const page = await openBrowser(t, { expectedErrors: /401/ });
  await signIn(page, console.url, '#handlers');
  await mendAndReplay(page, { console, files: [server], receiver });
});

browserTest('an operator ends a session, whose client then gets 401, and lifts a ban', async (t) => {
  const { server, console } = await startConsole(t, workConfig());
  const page = await openBrowser(t, { expectedErrors: /401/ });
  await signIn(page, console.url, '#accounts');
  await endSessionAndLiftBan(page, { console, files: [server] });
});

browserTest(
  'with three nodes, an operator replays a delivery, ends a session, lifts a ban, and sees that a node is gone',
  { timeout: 110_000 },
  async (t) => {
    if (!hasProgram(t, 'redis-server')) return;
    const page = await openBrowser(t, { expectedErrors });
    const receiver = await failingReceiver(t);
    const redis = await startRedis(t);
    const { server, service, event_handlers } = workConfig(receiver);
    const port = await freePort();
    const nodes = await startNodes(t, temporaryFolder(t), receiver.url, [redis.url, redis.url, redis.url], {
      server: server ?? {},
      web: service ?? {},
      services: async (name) => ({ console: await consoleService({ port: name === 'n0' ? port : await freePort() }) }),
      event_handlers,
    });
    const console = new ConsoleClient(`http://127.0.0.1:${port}`);
    const files = nodes.map(({ client }) => client);
    await signIn(page, console.url);
    await mendAndReplay(page, { console, files, receiver });
    await endSessionAndLiftBan(page, { console, files });

    await page.goto(`${console.url}/#overview`);
    const shown = page.locator('.panel', { has: page.getByRole('heading', { name: 'Nodes', exact: true }) }).locator('tbody tr');
    await shown.filter({ hasText: 'n2' }).getByText('ready').waitFor();
    await shown.nth(2).waitFor();
    assert.equal(await shown.count(), 3);
    await nodes[2]?.kill();
    await shown.filter({ hasText: 'n2' }).getByText('gone').waitFor();
    await shown.filter({ hasText: 'n1' }).getByText('ready').waitFor();
  },
);
