import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { program, run, start } from '../support/child.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';

const configuration = `
authentications: {corporate: {type: http, url: "https://id.example.com/", name: Directory}, local: {type: application}}
groups: {STAFF: {home_folder_path: ./x}, "TWO WORDS": {}}
accounts: {alice: {}, bob: {}}
services: {web: {type: nonsense}}
event_handlers: {crm: {type: http, url: "https://crm.example.com/"}, archive: {type: http, url: "https://a.example.com/"}}
`;

function folder(t: TestContext): string {
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, 'svc.config.yaml'), configuration);
  return cwd;
}

test('__complete knows commands, options, choices, UUIDs, accounts and event IDs, even with an invalid configuration', async (t) => {
  const cwd = folder(t);
  writeFileSync(join(cwd, 'other.yaml'), 'authentications: {elsewhere: {type: application}}');
  const cases: [string[], string[]][] = [
    [['val'], ['validate']],
    [
      ['validate', '--s'],
      ['--strict', '--sarif'],
    ],
    [['validate', ''], [':files']],
    [['validate', '--config', ''], [':files']],
    [
      ['auth-test', '--method', ''],
      ['corporate', 'local'],
    ],
    [['auth-test', '--config', 'other.yaml', '--method', ''], ['elsewhere']],
    [['auth-test', '--config=other.yaml', '--method', ''], ['elsewhere']],
    [['auth-test', '--expect', 'r'], ['rejected']],
    [['auth-test', '--expect=r'], ['--expect=rejected']],
    [['auth-test', '--expect', '=', 'r'], ['rejected']],
    [['auth-test', '--username', 'a'], ['alice']],
    [
      ['webhook-replay', '--handler', ''],
      ['crm', 'archive'],
    ],
    [
      ['events', '--id', '2001'],
      ['20011', '20012'],
    ],
    [
      ['explain', '--user', 'alice', 'P'],
      ['PUT', 'PROPFIND', 'POSIX-RENAME'],
    ],
    [
      ['explain', '--group', ''],
      ['STAFF', 'TWO WORDS'],
    ],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['mock', 'w'], ['webhook']],
    [
      ['mock', 'auth', '--fault', 'h'],
      ['half', 'hang'],
    ],
    [['nonsense', '--x'], []],
    [['serve', '--port', ''], []],
  ];
  for (const [words, expected] of cases) {
    const end = await run(t, ['__complete', '--', ...words], { cwd });
    const found = end.stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split('\t', 1)[0]);
    assert.deepEqual([found, end.code, end.stderr], [expected, 0, ''], words.join(' '));
  }
  const described = await run(t, ['__complete', '--', 'auth-test', '--method', 'c'], { cwd });
  assert.equal(described.stdout, 'corporate\tDirectory\n');
});

test('the bash script completes in a real bash', async (t) => {
  if (!hasProgram(t, 'bash')) return;
  const cwd = folder(t);
  symlinkSync(program.at(-1) as string, join(cwd, 'svc'));
  chmodSync(program.at(-1) as string, 0o755);
  const complete = (...words: string[]) => {
    const script = `eval "$(svc completion bash)"
COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _svc_complete; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const end = spawnSync('bash', ['--norc', '-c', script], {
      cwd,
      encoding: 'utf8',
      env: { ...process.env, PATH: `${cwd}:${process.env.PATH}` },
    });
    assert.equal(end.stderr, '');
    return end.stdout.split('\n').filter(Boolean);
  };
  assert.deepEqual(complete('svc', 'auth-test', '--method', 'cor'), ['corporate']);
  assert.deepEqual(complete('svc', 'explain', '--group', 'T'), ['TWO\\ WORDS']);
  assert.deepEqual(complete('svc', 'auth-test', '--expect', '=', 'n'), ['next']);
  assert.deepEqual(complete('svc', 'hash'), ['hash-password']);
});

test('the fish script completes in a real fish, and zsh accepts its script', async (t) => {
  if (!hasProgram(t, 'fish') || !hasProgram(t, 'zsh')) return;
  const cwd = folder(t);
  symlinkSync(program.at(-1) as string, join(cwd, 'svc'));
  chmodSync(program.at(-1) as string, 0o755);
  const env = { ...process.env, HOME: cwd, PATH: `${cwd}:${process.env.PATH}` };
  const commands = "svc completion fish | source; complete -C 'svc auth-test --method cor'; complete -C 'svc auth-test --expect n'";
  const fish = spawnSync('fish', ['--no-config', '-c', commands], { cwd, encoding: 'utf8', env });
  assert.deepEqual(
    fish.stdout
      .trim()
      .split('\n')
      .map((line) => line.split('\t')[0]),
    ['corporate', 'next'],
    fish.stderr,
  );
  const zsh = spawnSync(
    'zsh',
    ['-f', '-c', 'svc completion zsh > _svc && zsh -n _svc && autoload -Uz compinit && compinit -D -u && source ./_svc'],
    {
      cwd,
      encoding: 'utf8',
      env,
    },
  );
  assert.deepEqual([zsh.status, zsh.stderr], [0, '']);
});

test('completion scripts exist for bash, zsh and fish; an unknown shell is a usage error', async (t) => {
  const cwd = temporaryFolder(t);
  for (const shell of ['bash', 'zsh', 'fish']) {
    const end = await run(t, ['completion', shell], { cwd });
    assert.deepEqual([end.code, /__complete --/.test(end.stdout)], [0, true]);
    if (!(process.env.PATH ?? '').split(':').some((path) => spawnSync('test', ['-x', join(path, shell)]).status === 0)) continue;
    const path = join(cwd, `completion.${shell}`);
    writeFileSync(path, end.stdout);
    assert.equal(spawnSync(shell, ['-n', path]).status, 0, `${shell} reads its script`);
  }
  assert.equal((await run(t, ['completion', 'csh'], { cwd })).code, 2);
});

test('the manual page has no roff errors and names every command and option', async (t) => {
  const cwd = temporaryFolder(t);
  const page = (await run(t, ['man'], { cwd })).stdout;
  for (const command of ['serve', 'reload', 'validate', 'test', 'explain', 'init', 'events', 'mock auth', 'completion'])
    assert.ok(page.includes(`.SS svc ${command}\n`), command);
  assert.match(page, /\n\.B \\-\\-strict\n/);
  assert.doesNotMatch(page, /__complete/);
  if (!hasProgram(t, 'man')) return;
  writeFileSync(join(cwd, 'svc.1'), page);
  const end = spawnSync('man', ['--warnings', '-E', 'UTF-8', '-l', '-Tutf8', '-Z', 'svc.1'], { cwd, encoding: 'utf8' });
  assert.equal(end.stderr, '');
});

test('the help of every command contains examples, and its lines have at most 80 columns', async (t) => {
  const cwd = temporaryFolder(t);
  const help = (await run(t, ['--help'], { cwd })).stdout;
  const list = help.slice(help.indexOf('\nCommands:'), help.indexOf('\nExit codes:'));
  const names = [...list.matchAll(/^ {2}([a-z][a-z-]+)/gm)].map((match) => match[1] as string).filter((name) => name !== 'help');
  const commands = names.map((name) => (name === 'mock' ? ['mock', 'auth'] : [name]));
  assert.ok(commands.length >= 14, commands.join(' '));
  for (const words of commands) {
    const { stdout, code } = await run(t, [...words, '--help'], { cwd });
    assert.equal(code, 0);
    assert.match(stdout, /Examples?:\n {2}/, words.join(' '));
    const usage = stdout.slice(0, stdout.indexOf('Global Options'));
    assert.ok(
      usage.split('\n').every((line) => line.length <= 80),
      words.join(' '),
    );
  }
});

test('SIGINT and SIGTERM end a command silently with their exit codes', async (t) => {
  const cwd = temporaryFolder(t);
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    const mock = start(t, ['mock', 'auth', '--port', '0', '--fault', 'hang'], { cwd });
    const url = (await mock.line(/listening on (\S+)\n/))[1] ?? '';
    const waiting = start(t, ['auth-test', '--url', url, '--username', 'a', '--password', 'b'], { cwd });
    await mock.line(/listening[^\n]*\n[^\n]+\n/);
    waiting.child.kill(signal);
    const end = await waiting.ended;
    assert.deepEqual([end.code, end.stdout, end.stderr], [code, '', '']);
  }
});

test('without a terminal there are no colours; SVC_DEBUG=1 shows stacks; SVC_LOG_LEVEL and SVC_LOG_FORMAT apply', async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, 'bad.yaml'), 'services: {web: {type: ftp}}');
  const plain = await run(t, ['validate', 'bad.yaml'], { cwd, env: { FORCE_COLOR: '1' } });
  assert.equal(plain.stderr.includes('\u001b'), false);
  const quiet = await run(t, ['validate', 'nothing.yaml'], { cwd });
  assert.doesNotMatch(quiet.stderr, /\n\s+at /);
  assert.match((await run(t, ['validate', 'nothing.yaml'], { cwd, env: { SVC_DEBUG: '1' } })).stderr, /\n\s+at /);
  assert.doesNotMatch((await run(t, ['validate', 'nothing.yaml'], { cwd, env: { SVC_DEBUG: '0' } })).stderr, /\n\s+at /);
  const wrong = await run(t, ['serve', '--port', '0'], { cwd, env: { SVC_LOG_LEVEL: 'loud' } });
  assert.deepEqual([wrong.code, /SVC_LOG_LEVEL/.test(wrong.stderr)], [2, true], wrong.stderr);
  const server = start(t, ['serve', '--port', '0', '--user', 'a:secret-words'], {
    cwd,
    env: { SVC_LOG_LEVEL: 'debug', SVC_LOG_FORMAT: 'json' },
  });
  await server.line(/listening/);
  server.child.kill('SIGTERM');
  assert.match((await server.ended).stderr, /^\{.*"stopping"/m);
});
