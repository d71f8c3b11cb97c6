import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../support/temp.ts';

test('the packed tarball, installed elsewhere, gives a working svc', async (t) => {
  const folder = temporaryFolder(t);
  const root = process.env.SVC_ROOT ?? process.cwd();
  const npm = (args: string[], cwd: string) => {
    const end = spawnSync('npm', [...args, '--offline', '--silent', '--no-audit', '--cache', join(folder, 'cache')], {
      cwd,
      encoding: 'utf8',
    });
    assert.equal(end.status, 0, end.stderr + end.stdout);
    return end.stdout.trim();
  };
  const tarball = npm(['pack', root, '--pack-destination', folder], folder).split('\n').at(-1) ?? '';
  mkdirSync(join(folder, 'project'));
  writeFileSync(join(folder, 'project/package.json'), '{"name":"project","version":"1.0.0"}');
  npm(['install', join(folder, tarball)], join(folder, 'project'));
  const end = spawnSync('npx', ['--no-install', 'svc', '--version'], { cwd: join(folder, 'project'), encoding: 'utf8' });
  assert.match(end.stdout, /^\d+\.\d+\.\d+\n$/);
});
