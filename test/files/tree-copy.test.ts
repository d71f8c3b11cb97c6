import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readlinkSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openFolder } from '../../src/files/disk/opened.ts';
import { RealRoots } from '../../src/files/disk/real-roots.ts';
import { copyTree, isSameState, treeState } from '../../src/files/operations/tree-copy.ts';
import { temporaryFolder } from '../support/temp.ts';

async function turnsDuring<T>(action: () => Promise<T>): Promise<{ result: T; turns: number }> {
  let turns = 0;
  let isDone = false;
  const count = () => {
    turns++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const result = await action().finally(() => {
    isDone = true;
  });
  return { result, turns };
}

test('other requests run while a tree with thousands of symlinks is copied and compared', async (t) => {
  const folder = temporaryFolder(t);
  const source = join(folder, 'source');
  mkdirSync(join(source, 'below'), { recursive: true });
  for (let index = 0; index < 5120; index++) symlinkSync(`to-${index}`, join(source, index < 2560 ? `l${index}` : `below/l${index}`));
  const roots = new RealRoots([folder], []);
  const parent = openFolder(roots, folder);
  t.after(() => parent.close());
  const copied = await turnsDuring(() => copyTree(roots, parent, 'source', join(folder, 'copy')));
  assert.ok(copied.turns >= 20, `${copied.turns} turns`);
  assert.equal(readdirSync(join(folder, 'copy/below')).length, 2560);
  assert.equal(readlinkSync(join(folder, 'copy/below/l3000')), 'to-3000');
  const looked = await turnsDuring(() => treeState(source));
  assert.ok(looked.turns >= 20, `${looked.turns} turns`);
  assert.equal(isSameState(copied.result, looked.result), true);
  symlinkSync('more', join(source, 'below/more'));
  assert.equal(isSameState(copied.result, await treeState(source)), false);
});
