import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { start } from '../../support/child.ts';
import { Client } from '../../support/client.ts';
import { append, newest, part } from '../../support/draft-uploads.ts';
import { until } from '../../support/receiver.ts';
import { writeConfig } from '../../support/server.ts';
import { temporaryFolder } from '../../support/temp.ts';
import { WatchedRequest } from '../../support/watched-request.ts';

test('the offset of a stalled upload is soon recorded, at any size, and survives kill -9', async (t) => {
  const folder = temporaryFolder(t);
  await writeConfig(folder, {});
  const serve = async () => {
    const running = start(t, ['serve', '--log-level', 'error'], { cwd: folder });
    const [, url = ''] = await running.line(/(http:\S+)\/\n/);
    return { running, client: new Client(url) };
  };
  let { running, client } = await serve();
  const sizes = [100_000, 9_000_001];
  const locations: string[] = [];
  for (const size of sizes) {
    const headers = { ...part, 'upload-length': '60000000' };
    const location = String((await client.put(`/home/${size}`, '', { headers })).headers.location);
    locations.push(location);
    const sent = new WatchedRequest(client, 'PATCH', location, { ...newest, ...append(0, true), 'content-length': '60000000' });
    await sent.write(Buffer.alloc(size, 'x'));
  }
  const records = () => readdirSync(join(folder, 'data/uploads')).map((name) => readFileSync(join(folder, 'data/uploads', name), 'latin1'));
  for (const size of sizes)
    await until(`the offset ${size} is recorded`, () => records().some((record) => record.startsWith(`{"offsetBytes":${size},`)));
  running.child.kill('SIGKILL');
  await running.ended;
  ({ running, client } = await serve());
  for (const [index, location] of locations.entries()) {
    const { headers } = await client.send('HEAD', location, { headers: newest });
    assert.equal(headers['upload-offset'], String(sizes[index]));
  }
});
