import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { descriptorsNameFiles } from '../../src/files/disk/real-roots.ts';

/** Set when this file runs as a child with an empty /proc. */
const isWithout = process.env.SVC_WITHOUT_PROC === '1';

if (isWithout) {
  test('there is no /proc', () => assert.equal(descriptorsNameFiles, false));
  await import('./file-cache.test.ts');
} else
  test('small files are cached, and symlinks are not followed, on Linux without /proc', (t) => {
    const unshare = (...command: string[]) => {
      const { NODE_TEST_CONTEXT: _, ...env } = process.env;
      const args = ['--user', '--map-root-user', '--mount', ...command];
      return spawnSync('unshare', args, { encoding: 'utf8', env: { ...env, SVC_WITHOUT_PROC: '1' } });
    };
    const hide = 'mount -t tmpfs none /proc && exec "$0" "$@"';
    if (unshare('sh', '-c', hide, 'true').status !== 0) return t.skip('this system has no namespaces for users who are not root');
    const { status, stdout, stderr } = unshare('sh', '-c', hide, process.execPath, '--test-reporter=tap', String(process.argv[1]));
    assert.equal(status, 0, stdout + stderr);
    assert.match(stdout, /^# skipped 0$/m, stdout);
    assert.ok(Number(/^# pass (\d+)$/m.exec(stdout)?.[1]) > 5, stdout);
  });
