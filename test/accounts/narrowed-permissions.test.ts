import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Permissions } from '../../src/accounts/permissions.ts';
import type { VirtualPath } from '../../src/lib/virtual-path.ts';

const path = (text: string) => text as VirtualPath;

test('a narrowing grants a subset of the permissions, survives a conversion to options, and can be narrowed again', () => {
  const whole = new Permissions(
    { general: ['allow-read', 'allow-write'], rules: [{ expression: '/out/*', permissions: ['allow-list'] }] },
    'alice',
  );
  const drop = whole.narrowed({ paths: [path('/in')], permissions: ['allow-create-file', 'allow-delete-file', 'allow-list'] });
  assert.equal(drop.allows(path('/in/a'), 'create-file'), true, 'the right to write includes creating');
  for (const right of ['write', 'read', 'delete-file', 'list'] as const) assert.equal(drop.allows(path('/in/a'), right), false, right);
  for (const other of ['/', '/inner/a', '/out/a', '/In/a'])
    assert.equal(drop.allowsAny(path(other), ['create-file', 'list']), false, other);
  assert.deepEqual(
    [whole.hasRules, new Permissions({ general: [], rules: [] }, 'a').narrowed({ paths: [path('/x')] }).hasRules],
    [true, true],
  );
  const again = new Permissions(JSON.parse(JSON.stringify(drop.options)), 'alice');
  assert.deepEqual(
    [again.allows(path('/in/a'), 'create-file'), again.allows(path('/in/a'), 'write'), again.allows(path('/a'), 'read')],
    [true, false, false],
  );
  const narrower = drop.narrowed({ paths: [path('/in/today'), path('/out')] });
  assert.deepEqual(
    ['/in/a', '/in/today/a', '/out/a'].map((one) => narrower.allows(path(one), 'create-file')),
    [false, true, false],
  );
  assert.equal(whole.narrowed({ permissions: ['allow-full-control'] }).allows(path('/a'), 'delete-file'), false);
  assert.equal(whole.narrowed({ permissions: ['deny-full-control'] }).allows(path('/a'), 'read'), false);
});
