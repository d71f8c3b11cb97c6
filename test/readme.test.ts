import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { executable } from './support/child.ts';
import { hasProgram } from './support/requires.ts';
import { temporaryFolder } from './support/temp.ts';

interface Step {
  command: string;
  expected: string;
}

/** The commands of the tour with what the README says they print. */
function tour(): Step[] {
  const readme = readFileSync(join(process.env.SVC_ROOT ?? '.', 'README.md'), 'utf8');
  const section = readme.slice(readme.indexOf('## Five-minute tour'), readme.indexOf('## The REST API'));
  return [...section.matchAll(/```console\n([\s\S]*?)```/g)].flatMap((block) =>
    (block[1] as string)
      .split(/^\$ /m)
      .slice(1)
      .map((step) => ({ command: step.split('\n', 1)[0] as string, expected: step.slice(step.indexOf('\n') + 1) })),
  );
}

/** What differs from run to run. */
function normalised(text: string): string {
  return text
    .replace(/"modified":[\d.]+/g, '"modified":T')
    .replace(/\/\S*\/(my\.config\.yaml)/g, '$1')
    .trim();
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test('the five-minute tour prints what the README says', { timeout: 60_000 }, async (t) => {
  if (!hasProgram(t, 'curl')) return;
  const port = await freePort();
  const cwd = temporaryFolder(t);
  // `npx svc` of the tour is the built executable; exec keeps the process that the shell knows and ends.
  const tools = temporaryFolder(t);
  writeFileSync(join(tools, 'npx'), `#!/bin/sh\nshift\nexec ${process.execPath} ${executable} "$@"\n`, { mode: 0o755 });
  const shell = spawn('bash', ['--norc'], { cwd, env: { ...process.env, NO_COLOR: '1', PATH: `${tools}:${process.env.PATH}` } });
  t.after(() => shell.kill('SIGKILL'));
  shell.stdin.write("exec 2>&1\ntrap 'kill $(jobs -p)' EXIT\n");
  let output = '';
  shell.stdout.on('data', (chunk) => {
    output += chunk;
  });
  const steps = tour();
  assert.ok(steps.length >= 10, 'the tour was found');
  for (const [index, { command, expected }] of steps.entries()) {
    output = '';
    const isServer = command.endsWith('&');
    shell.stdin.write(
      `${command.replaceAll('8080', command.startsWith('sed') ? '8080' : String(port))}\n${isServer ? '' : `echo "done ${index}"\n`}`,
    );
    const end = isServer ? /listening on \S+\n/ : new RegExp(`done ${index}\n$`);
    const deadline = Date.now() + 20_000;
    while (!end.test(output) && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 10));
    const printed = output.replace(new RegExp(`done ${index}\n$`), '').replaceAll(String(port), '8080');
    assert.equal(normalised(printed), normalised(expected), command);
  }
  shell.stdin.end();
  await new Promise((resolve) => shell.on('close', resolve));
});
