import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { browserTest, openBrowser } from '../support/browser.ts';
import { assertNeverAnew, assertUploaded } from '../support/large-uploads.ts';
import { testUser } from '../support/secrets.ts';
import { startServer } from '../support/server.ts';
import { startUnreliableProxy } from '../support/unreliable-proxy.ts';
import { tusProtocols } from '../support/uploads-over-bad-line.ts';

/** The script of tus-js-client that pages load. It defines the global variable `tus`. */
const script = join(process.env.SVC_ROOT ?? '.', 'node_modules/tus-js-client/dist/tus.min.js');

const content = Buffer.from(Array.from({ length: 1_000_000 }, (_, index) => (index * index) >> 7));

browserTest('tus-js-client in a page of another origin uploads by all its protocols despite interrupted connections', async (t) => {
  const site = createServer((_, outgoing) => outgoing.setHeader('content-type', 'text/html').end('<!doctype html><title>site</title>'));
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  t.after(() => site.close());
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  const server = await startServer(t, { service: { cors_origins: [origin] } });
  const proxy = await startUnreliableProxy(t, server.port);
  const page = await openBrowser(t, { expectedErrors: /409|ERR_/ });
  await page.goto(origin);
  await page.addScriptTag({ path: script });
  for (const protocol of tusProtocols)
    for (const chunkSize of [undefined, 600_000]) {
      const filename = `${protocol}-${chunkSize ?? 'whole'}.bin`;
      proxy.troubles.push({ cutAfterBytes: 500_000 }, { swallowsReply: true });
      const options = {
        endpoint: `${proxy.url}/home/__svc__/uploads/`,
        protocol,
        chunkSize,
        metadata: { filename },
        headers: { authorization: `Basic ${Buffer.from(testUser).toString('base64')}` },
        retryDelays: [20, 20, 20, 20],
      };
      await page.evaluate(`new Promise((resolve, reject) => {
        const content = Uint8Array.from({ length: ${content.length} }, (_, index) => (index * index) >> 7);
        new tus.Upload(new Blob([content]), { ...${JSON.stringify(options)}, onSuccess: resolve, onError: reject }).start();
      })`);
      await assertUploaded(server, filename, content);
      assert.equal(proxy.troubles.length, 0, 'all planned troubles happened');
      assertNeverAnew(proxy.offsets.splice(0));
    }
});
