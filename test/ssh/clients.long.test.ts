import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasProgram } from '../support/requires.ts';
import { startSsh } from '../support/ssh.ts';
import { canMount, namesAndStreams, plantLocal, rcloneInfo, resticOn, runMounted } from '../support/ssh-clients.ts';

test('sshfs: git and SQLite work on a mounted folder', async (t) => {
  if (!canMount(t, 'git', 'sqlite3')) return;
  const script = `set -e
mkdir work; cd work; git init -q .
git config user.email a@example.com; git config user.name A
for i in 1 2 3; do echo $i >> f; git add .; git commit -qm "$i"; done
git fsck; git gc -q; test -z "$(git status -s)"; git log --oneline | wc -l
sqlite3 db 'create table t(a)'
for i in 1 2 3 4 5; do sqlite3 db "insert into t values($i)"; done
sqlite3 db 'select sum(a) from t; pragma integrity_check'`;
  assert.equal(await runMounted(await startSsh(t), script), '3\n15\nok\n');
});

test('restic makes a backup, and its check, which reads all data, finds no errors', async (t) => {
  if (!hasProgram(t, 'restic') || !hasProgram(t, 'ssh')) return;
  const server = await startSsh(t);
  plantLocal(server.clientFolder);
  const restic = resticOn(server);
  await restic('init', '-q');
  await restic('backup', '-q', 'up');
  assert.match(await restic('check', '--read-data'), /no errors were found/);
});

test('rclone test info: all file names work, except those with control characters or invalid UTF-8', async (t) => {
  if (!hasProgram(t, 'rclone')) return;
  const named = new Map(
    Object.entries({ 7: 'a', 8: 'b', 9: 't', 10: 'n', 11: 'v', 12: 'f', 13: 'r' }).map(([code, name]) => [Number(code), name]),
  );
  const controls = [...Array.from({ length: 32 }, (_, code) => code), 127, 0xbf, 0xfe];
  const escaped = controls.map((code) => `'\\${named.get(code) ?? `x${code.toString(16).padStart(2, '0')}`}'`).sort();
  const refused = `stringNeedsEscaping = []rune{\n\t${["'/'", ...escaped].join(', ')}\n}\n`;
  assert.equal(await rcloneInfo(await startSsh(t), '--all'), `${refused}${namesAndStreams}`);
});
