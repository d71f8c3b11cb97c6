import assert from 'node:assert/strict';
import { closeSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { openFile } from '../../src/files/disk/opened.ts';
import { Mounts } from '../../src/files/mounts.ts';
import { memberUrlPath, parseRequestTarget } from '../../src/http/request/request-target.ts';
import { transferRequest } from '../../src/http/webdav/copy-move.ts';
import type { VirtualPath } from '../../src/lib/virtual-path.ts';
import { exchangeOf } from '../support/exchange.ts';
import { fuzz, orRefused } from '../support/fuzz.ts';
import { temporaryFolder } from '../support/temp.ts';

const names = ['d', 'f', 'up', 'out', 'dangling', 'loop', 'deep', 'v', 'data', 'secret', 'home', '..', '.', '...', '__svc__', ''];
const encodings = [
  (text: string) => text,
  (text: string) => percent(text),
  (text: string) => percent(text).toLowerCase(),
  (text: string) => percent(percent(text)),
  (text: string) => text.replaceAll('.', '%2e'),
  (text: string) => text.replaceAll('.', '%u002e'),
  (text: string) => text.replaceAll('.', '%c0%ae'),
  (text: string) => text.replaceAll('.', '\uff0e'),
  (text: string) => `${text};x=1`,
  (text: string) => `${text}%00`,
  (text: string) => `${text}.`,
  (text: string) => `${text}%20`,
  (text: string) => text.toUpperCase(),
];
const separators = ['/', '//', '/./', '%2f', '%2F', '\\', '%5c', '/../', '/%2e%2e/', '/%2e/', '%252f'];

function percent(text: string): string {
  return [...Buffer.from(text)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
}

const segment = fc.tuple(fc.constantFrom(...names), fc.constantFrom(...encodings)).map(([name, encode]) => encode(name));
const path = fc
  .array(fc.tuple(fc.constantFrom(...separators), segment), { maxLength: 7 })
  .map((parts) => parts.map((part) => part.join('')).join(''));
const target = fc
  .tuple(
    fc.constantFrom('', '/', 'http://files.example', '//files.example', 'HTTP://x:1', 'file://'),
    fc.constantFrom('/home', '/home/', '/HOME', '/%68ome', ''),
    path,
  )
  .map((parts) => parts.join(''));

function memberOf(raw: string): VirtualPath | undefined {
  const parsed = orRefused(() => parseRequestTarget(raw));
  return parsed?.kind === 'member' ? parsed.path : undefined;
}

test('no sequence of encodings reaches a file that the model does not have at that path', (t) => {
  const folder = temporaryFolder(t);
  const home = join(folder, 'home');
  for (const name of ['home/d/deep', 'home/data', 'outside/deep', 'mounted']) mkdirSync(join(folder, name), { recursive: true });
  for (const name of ['secret', 'outside/f', 'outside/deep/f', 'f', 'home/data/f']) writeFileSync(join(folder, name), 'SECRET');
  const model = new Map<string, string>();
  for (const name of ['f', 'd/f', 'd/deep/f', '...']) writeFileSync(join(home, name), name);
  for (const name of ['f', 'd/f', 'd/deep/f', '...']) model.set(`/${name}`, name);
  writeFileSync(join(folder, 'mounted/f'), 'mounted');
  model.set('/v/f', 'mounted');
  const links = {
    up: '..',
    out: '../outside',
    'd/out': join(folder, 'outside'),
    dangling: '../outside/new',
    loop: 'loop',
    'd/up': '../d',
    'd/deep/secret': '../../../secret',
    secret: 'd/../../secret',
    'd/v': '../v',
  };
  for (const [name, leadsTo] of Object.entries(links)) symlinkSync(leadsTo, join(home, name));
  // `d/up` is the only symlink that leads to an item inside the home folder.
  for (const [name, content] of [...model]) if (name.startsWith('/d/')) model.set(`/d/up${name.slice(2)}`, content);
  const mounts = new Mounts({ homeFolderPath: home, virtualFolders: [{ path: '/v' as VirtualPath, realPath: join(folder, 'mounted') }] }, [
    join(home, 'data'),
  ]);
  let reached = 0;
  const whole = (virtual: string): string | undefined => model.get(virtual.replace(/^(\/d\/up)(\/up)+/, '$1'));
  return fuzz(
    t,
    target,
    (raw) => {
      const virtual = memberOf(raw);
      if (virtual === undefined) return;
      assert.equal(posix.normalize(virtual), virtual);
      const location = mounts.locate(virtual);
      const content = orRefused(() => {
        if (location.kind !== 'real') return undefined;
        const { fd } = openFile(mounts.roots, location.realPath);
        const text = readFileSync(fd, 'utf8');
        closeSync(fd);
        reached++;
        return text;
      });
      assert.equal(content, whole(virtual), `${raw} is ${virtual}`);
    },
    { share: 6 },
  ).then(() => assert.ok(reached > 0, 'some cases are files'));
});

test('a target that was read and written again is read as the same path', (t) =>
  fuzz(
    t,
    target,
    (raw) => {
      const virtual = memberOf(raw);
      if (virtual !== undefined)
        assert.deepEqual(parseRequestTarget(memberUrlPath(virtual, true)), { kind: 'member', path: virtual, isFolder: true, query: '' });
    },
    { share: 6 },
  ));

const authority = fc.constantFrom(
  'files.example',
  'FILES.example:80',
  'files.example:81',
  'evil.example',
  'a@files.example',
  'files.example@evil.example',
  '',
  'files.example.evil',
);

test('Destination: it is read like a target on this host, or refused', (t) =>
  fuzz(
    t,
    fc.record({
      scheme: fc.constantFrom('', 'http://', 'https://', 'HTTP://', 'ftp://', '//', 'javascript:'),
      host: authority,
      rest: fc.tuple(fc.constantFrom('/home', '/home/', '', '/__svc__'), path, fc.constantFrom('', '?', '?x', '#x', ' ', '\t')),
      overwrite: fc.constantFrom(undefined, 'T', 'F', 't', 'TF', ' T '),
      depth: fc.constantFrom(undefined, '0', '1', 'infinity', 'Infinity', ''),
    }),
    ({ scheme, host, rest, overwrite, depth }) => {
      const destination = scheme === '' ? rest.join('') : `${scheme}${host}${rest.join('')}`;
      const headers = { destination, ...(overwrite === undefined ? {} : { overwrite }), ...(depth === undefined ? {} : { depth }) };
      const read = orRefused(() => transferRequest(exchangeOf({ method: 'MOVE', headers })));
      if (!read) return;
      assert.equal(posix.normalize(read.destination), read.destination);
      const expected = parseRequestTarget(destination.trim().replace(/^https?:\/\/[^/]*/i, ''));
      assert.ok(expected.kind === 'member' && expected.path === read.destination);
      if (scheme !== '') assert.match(destination, /^https?:\/\/(a@)?files\.example(:80)?\//i);
      assert.equal(read.namesFolder, expected.isFolder);
      const mayReplace = { T: 'anything', F: 'nothing' }[overwrite?.trim() ?? ''] ?? 'file';
      assert.equal(read.rules.mayReplace, mayReplace);
      assert.ok(depth === undefined || /^(0|infinity)$/i.test(depth));
    },
    { share: 3 },
  ));
