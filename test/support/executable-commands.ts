import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { start } from './child.ts';
import { temporaryFolder } from './temp.ts';

/** A run of each command: arguments, exit code, and output. `URL` stands for the URL of a mock. */
const runs: [command: string, more: string, code: number, printed: RegExp][] = [
  ['import', 'htpasswd nowhere', 2, /^$/],
  ['ssh', 'host-key import nowhere', 3, /^$/],
  ['reload', '', 0, /^reloaded: nothing changed/],
  ['validate', '', 0, /is valid: 2 services/],
  ['test', 'cases.yaml', 0, /1 case passed/],
  ['explain', '--user alice GET /home/', 0, /^allowed$/m],
  ['init', '-', 0, /^# yaml-language-server/],
  ['hash-password', '', 0, /^\$scrypt\$/],
  ['schema', 'health', 0, /"title"/],
  ['openapi', '', 0, /^openapi: /],
  ['auth-test', '--url URL --username mallory --password x', 11, /rejected 403/],
  ['webhook-replay', '--url URL --limit 1 --force', 1, /1 event in 1 request/],
  ['events', '--limit 1', 0, /\t20001\t/],
  ['expectations', 'list', 2, /^$/],
  ['trash', 'list --json', 0, /^$/],
  ['journal', 'key show', 0, /^-----BEGIN PUBLIC KEY-----/],
  ['sessions', 'list --json', 0, /^$/],
  ['locks', 'list --json', 0, /^$/],
  ['trash', 'list --json', 0, /^$/],
  ['held', 'list --json', 0, /^$/],
  ['inspect', 'cases.yaml --account alice --path /x', 0, /^accepted/],
  ['bans', 'list --json', 0, /^$/],
  ['tokens', 'list --json', 0, /^$/],
  ['links', 'list --json', 0, /^$/],
  ['receipt', 'nothing', 3, /^missing: nothing/],
  ['health', '', 0, /^ready/],
  ['completion', 'bash', 0, /_svc_complete/],
  ['man', '', 0, /^\.TH/],
  ['help', 'serve', 0, /Examples:/],
  ['__complete', '-- val', 0, /^validate\t/],
];

/** Asserts that the executable has every command of its help, and that each runs. */
export async function assertCommands(t: TestContext): Promise<void> {
  const cwd = temporaryFolder(t);
  const configuration = `server: {data_folder_path: data}
groups: {DEFAULT_GROUP: {home_folder_path: ./files}}
accounts: {alice: {}}
services: {web: {type: http, port: 0}, eyes: {type: monitor, port: 0}}
`;
  writeFileSync(join(cwd, 'svc.config.yaml'), configuration);
  writeFileSync(join(cwd, 'cases.yaml'), '[{account: alice, request: GET /home/, expect: allowed}]');
  const server = start(t, ['serve'], { cwd });
  const [, monitor = ''] = await server.line(/eyes listening on (\S+)\n/);
  const mock = start(t, ['mock', 'auth', '--port', '0', '--reject', 'mallory', '--status', '403'], { cwd });
  const [, url = ''] = await mock.line(/listening on (\S+)\n/);
  for (const [command, more, code, printed] of runs) {
    const args = more.replace('URL', url).split(' ').filter(Boolean);
    if (command === 'health') args.push('--url', monitor);
    const end = await start(t, [command, ...args], { cwd, input: 'some words' }).ended;
    assert.equal(end.code, code, `${command}: ${end.stdout}${end.stderr}`);
    assert.match(end.stdout, printed, command);
  }
  mock.child.kill('SIGTERM');
  assert.equal((await mock.ended).code, 0);
  const help = (await start(t, ['--help'], { cwd }).ended).stdout;
  const list = help.slice(help.indexOf('\nCommands:'), help.indexOf('\nExit codes:'));
  const names = [...list.matchAll(/^ {2}([a-z][a-z-]+)/gm)].map((match) => match[1] as string);
  const listed = new Set(['serve', 'mock', ...runs.map(([command]) => command)]);
  assert.deepEqual(
    names.filter((name) => !listed.has(name)),
    [],
  );
}
