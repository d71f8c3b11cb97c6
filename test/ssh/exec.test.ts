import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { shellWords } from '../../src/ssh/connection/channels.ts';

test('a command is split into words as a Unix shell splits it', () => {
  for (const words of [['md5sum'], ['md5sum', '/a b/c'], ['sha1sum', "it's", 'a "quote"', '\\', '$HOME', '`id`', '*', 'ü😀', 'a\nb', '']]) {
    const quoted = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
    assert.deepEqual(shellWords(quoted), words);
  }
  for (const command of [String.raw`md5sum /r1/sub/f\ 1`, String.raw`md5sum "a \"b\" \\c"`, "md5sum a'b c'd", '  md5sum   x  ']) {
    const { stdout } = spawnSync('sh', ['-c', `for word in ${command}; do printf '%s\\0' "$word"; done`], { encoding: 'utf8' });
    assert.deepEqual(shellWords(command), stdout.split('\0').slice(0, -1), command);
  }
  assert.deepEqual(shellWords("md5sum a'\n'b"), ['md5sum', 'a\nb']);
});

test('a command that uses other features of a shell, or has an open quotation, is refused', () => {
  for (const command of [
    'md5sum a; rm b',
    'md5sum a && id',
    'md5sum `id`',
    'md5sum $(id)',
    'md5sum a > b',
    'md5sum "a',
    "md5sum 'a",
    'md5sum a\nid',
    'md5sum *',
    'a\\',
  ])
    assert.equal(shellWords(command), undefined, command);
});
