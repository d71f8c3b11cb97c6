import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasProgram } from '../../support/requires.ts';
import { startServer } from '../../support/server.ts';
import { type UploadScript, uploadScripts } from '../../support/upload-scripts.ts';
import { tusProtocols, UploadsOverBadLines } from '../../support/uploads-over-bad-line.ts';

/** A fixed seed and a random one; `SVC_FUZZ_SEED` repeats a run. */
const seeds = [20_261, Number(process.env.SVC_FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31))];

test('uploads of tus-js-client over a connection that cuts, delays and loses data arrive unchanged, and are reported once', async (t) => {
  const uploads = new UploadsOverBadLines(t, await startServer(t));
  console.log(`seeds ${seeds}: ${t.name}`);
  for (const seed of seeds)
    for (const protocol of tusProtocols)
      for (const chunkSize of [undefined, 100_000]) await uploads.byTus({ seed, faults: 6, bytes: 500_000 }, protocol, chunkSize);
  const kinds = await uploads.assertToldOnce();
  assert.equal(kinds.size, 4, `every kind of fault happened: ${JSON.stringify([...kinds])}`);
});

for (const script of Object.keys(uploadScripts) as UploadScript[])
  test(`uploads of ${script} over a connection that cuts, delays and loses data arrive unchanged, and are reported once`, async (t) => {
    if (!hasProgram(t, uploadScripts[script].needs)) return;
    const uploads = new UploadsOverBadLines(t, await startServer(t));
    console.log(`seeds ${seeds}: ${t.name}`);
    for (const seed of seeds) await uploads.byScript({ seed, faults: 4, bytes: 500_000 }, script);
    await uploads.byScript({ seed: 1, faults: 1, bytes: 0 }, script);
    assert.ok((await uploads.assertToldOnce()).size > 0, 'some fault happened');
  });
