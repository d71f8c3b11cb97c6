import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { platforms } from '../../scripts/packages/node-binaries.mjs';

const root = process.env.SVC_ROOT ?? process.cwd();
const page = readFileSync(join(root, 'docs/operate/install.md'), 'utf8');
const { version, scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  version: string;
  scripts: Record<string, string>;
};

test('the installation page names existing commands and files', () => {
  const commands = [...page.matchAll(/npm run\s+([\w:-]+)/g)].map(([, name = '']) => name);
  assert.deepEqual([...new Set(commands)].sort(), ['bench', 'build', 'build:binary', 'build:deb', 'release:check']);
  for (const name of commands) assert.ok(scripts[name], name);
  const made = [`svc_${version}-1_amd64.deb`, 'svc_<version>-1_amd64.deb', 'svc.mjs', 'release'];
  for (const platform of Object.keys(platforms)) made.push(`svc-${platform}`, `svc-${platform}.sbom.json`);
  for (const [, name = ''] of page.matchAll(/\bdist\/([\w.<>-]*\w)/g)) assert.ok(made.includes(name), `dist/${name}`);
  for (const [, name = ''] of page.matchAll(/--platform ([\w-]+)/g)) assert.ok(name in platforms, name);
  for (const [, path = ''] of page.matchAll(/ (?:-f )?((?:examples|scripts)\/[\w./-]+)/g)) assert.ok(existsSync(join(root, path)), path);
});
