import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openFlags, packetTypes } from '../../../src/ssh/sftp/packets/packets.ts';
import { swapForLink } from '../../support/link-swapper.ts';
import { testSession } from '../../support/sftp-session.ts';
import { temporaryFolder } from '../../support/temp.ts';
import { tree } from '../../support/tree.ts';

const { read, write, create, truncate } = openFlags;

const names = ['f', 'sub/f', 'victim', 'only-outside'];

/** Returns the visible state of a folder: names, contents, modes and times. */
function stateOf(folder: string): unknown {
  const paths = Object.keys(tree(folder));
  return [tree(folder), paths.map((path) => [statSync(join(folder, path)).mode, statSync(join(folder, path)).mtimeMs])];
}

for (const copyLimitBytes of [1_000_000, 0]) {
  const how = copyLimitBytes === 0 ? ', files written in place' : '';
  test(`a folder that is replaced by a symlink while SFTP requests run never leads outside${how}`, async (t) => {
    const { client, home, events } = testSession(t, { copy_on_resume_limit: copyLimitBytes });
    const [folder, outside] = [join(home, 'd'), temporaryFolder(t)];
    for (const [where, content] of [
      [folder, 'inside'],
      [outside, 'OUTSIDE'],
    ] as const) {
      for (const path of ['sub', 'empty']) mkdirSync(join(where, path), { recursive: true });
      for (const name of names) writeFileSync(join(where, name), content);
      writeFileSync(join(where, `named-${content}`), '');
    }
    const before = stateOf(outside);
    const seen = new Map<string, number>();
    const note = (what: unknown) => {
      assert.doesNotMatch(JSON.stringify(what) ?? '', /OUTSIDE/);
      const outcome = typeof what === 'number' ? `code ${what}` : what instanceof Error ? 'refused' : 'done';
      seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
    };
    const noting = (action: Promise<unknown>) => action.then(note, note);
    const readFile = async (name: string) => {
      const handle = await client.open(`d/${name}`, read);
      const content = String(await client.read(handle, 0, 100));
      await client.close(handle);
      return content;
    };
    const overwrite = async (name: string, flags: number) => {
      const handle = await client.open(`d/${name}`, read | write | flags);
      const old = String(await client.read(handle, 0, 100));
      await client.write(handle, 0, 'INSIDE');
      await client.close(handle);
      return old;
    };
    const setMode = (type: number, name: string) =>
      client.status(type, (fields) => fields.text(`d/${name}`).attributes({ mode: 0o600, times: { accessedS: 1, modifiedS: 1 } }));
    const extended = (name: string, ...paths: string[]) =>
      client.ask(packetTypes.extended, (fields) => paths.reduce((into, path) => into.text(path), fields.text(name)));
    const isSwapping = swapForLink({ folder, aside: join(home, 'aside'), outside, durationMs: 700 });
    while (isSwapping()) {
      await Promise.all([
        ...['f', 'sub/f', 'only-outside'].map((name) => noting(readFile(name))),
        ...['d', 'd/sub'].map((path) => noting(client.list(path))),
        noting(overwrite('f', 0)),
        noting(overwrite('new', create | truncate)),
        noting(overwrite('sub/f', copyLimitBytes === 0 ? 0 : truncate)),
        noting(setMode(packetTypes.setstat, 'f')),
        noting(client.status(packetTypes.setstat, (fields) => fields.text('d/f').attributes({ sizeBytes: 3 }))),
        noting(client.status(packetTypes.mkdir, (fields) => fields.text('d/made').attributes({}))),
        ...['d/empty', 'd/made'].map((path) => noting(client.onPath(packetTypes.rmdir, path))),
        ...['d/victim', 'd/new'].map((path) => noting(client.onPath(packetTypes.remove, path))),
        noting(client.rename('d/only-outside', 'taken')),
        noting(client.rename('taken', 'd/only-outside')),
        noting(extended('posix-rename@openssh.com', 'd/sub/f', 'd/f')),
        noting(client.put('d/victim', 'inside').catch((error) => error)),
      ]);
    }
    assert.deepEqual(stateOf(outside), before, 'nothing outside was changed, made or removed');
    assert.ok(
      (seen.get('done') ?? 0) > 0 && (seen.get('refused') ?? 0) + (seen.get('code 2') ?? 0) > 0,
      `some requests succeed, and some are refused: ${[...seen]}`,
    );
    assert.doesNotMatch(JSON.stringify(events), /named-OUTSIDE/);
    const inside = { ...tree(home) };
    assert.deepEqual(
      Object.entries(inside).filter(([path, content]) => path.includes('.svc-') || content.includes('OUTSIDE')),
      [],
      'no temporary file is left, and no outside content came in',
    );
    assert.equal(readFileSync(join(outside, 'f'), 'utf8'), 'OUTSIDE');
  });
}
