import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isBinary, program } from './child.ts';
import { freePort } from './redis.ts';
import { hasProgram } from './requires.ts';
import { temporaryFolder } from './temp.ts';
import { tour } from './tour.ts';

/** What differs from run to run. */
function normalised(text: string, cwd: string): string {
  return text
    .replace(/"modified":[\d.]+/g, '"modified":T')
    .replaceAll('/srv/demo/', `${cwd}/`)
    .replace(/\/\S*\/((?:my|svc)\.config\.yaml)/g, '$1')
    .trim();
}

async function untilAccepting(port: number): Promise<void> {
  for (let round = 0; round < 200; round++) {
    const accepts = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.destroy();
        resolve(true);
      });
      socket.on('error', () => resolve(false));
    });
    if (accepts) return;
    await sleep(50);
  }
}

/** Types the commands of a page into a shell: what they print must be what the page says. */
export async function runTour(t: TestContext, file: string, heading?: string): Promise<void> {
  if (!hasProgram(t, 'curl')) return;
  const ports = new Map([
    ['8080', String(await freePort())],
    ['9000', String(await freePort())],
    ['9001', String(await freePort())],
    ['2222', String(await freePort())],
  ]);
  const cwd = temporaryFolder(t);
  // `npx svc` of the tour is the built executable; exec keeps the process that the shell knows and ends.
  const tools = temporaryFolder(t);
  writeFileSync(join(tools, 'npx'), `#!/bin/sh\nshift\nexec ${program.join(' ')} "$@"\n`, { mode: 0o755 });
  const { SVC_CONFIG: _, ...env } = process.env;
  // A binary shows that it needs no Node.js: where the test may, the machine has none for the tour.
  const withoutNode = 'mount --bind /bin/false "$(readlink -f "$(command -v node)")" && exec bash --norc';
  const isHidden = isBinary && process.getuid?.() === 0;
  const shell = spawn(isHidden ? 'unshare' : 'bash', isHidden ? ['--mount', 'bash', '-c', withoutNode] : ['--norc'], {
    cwd,
    env: { ...env, NO_COLOR: '1', PATH: `${tools}:${process.env.PATH}` },
    detached: true,
  });
  // The whole process group: the servers of a tour that failed must not outlive it.
  t.after(() => {
    try {
      process.kill(-(shell.pid as number), 'SIGKILL');
    } catch {}
  });
  shell.stdin.write("exec 2>&1\ntrap 'kill $(jobs -p)' EXIT\n");
  let output = '';
  shell.stdout.on('data', (chunk) => {
    output += chunk;
  });
  const steps = tour(file, heading);
  assert.ok(steps.length >= 10, 'the tour was found');
  for (const [index, { command, expected }] of steps.entries()) {
    output = '';
    const isServer = command.endsWith('&');
    const real = [...ports].reduce((text, [shown, port]) => text.replaceAll(shown, port), command);
    // The first tour misspells an option of the port that the starter has.
    const typed = command.includes('prot: 8080') ? command : real;
    shell.stdin.write(`${typed}\n${isServer ? '' : `echo "done ${index}"\n`}`);
    if (isServer && expected.trim() === '') {
      await untilAccepting(Number(/--port (\d+)/.exec(real)?.[1]));
      continue;
    }
    const listeners = expected.trim().split('\n').length;
    const end = isServer ? new RegExp(`^(.*listening on \\S+\n){${listeners}}`, 'm') : new RegExp(`done ${index}\n$`);
    for (let round = 0; !end.test(output) && round < 2000; round++) await sleep(10);
    const printed = [...ports].reduce(
      (text, [shown, port]) => text.replaceAll(port, shown),
      output.replace(new RegExp(`done ${index}\n$`), ''),
    );
    assert.equal(normalised(printed, cwd), normalised(expected, cwd), command);
    if (command === 'npx svc init 2> /dev/null') usePort(join(cwd, 'svc.config.yaml'), ports.get('8080') as string);
  }
  shell.stdin.end();
  await new Promise((resolve) => shell.on('close', resolve));
}

/** The starter listens on a port that may be taken on this machine. */
function usePort(file: string, port: string): void {
  writeFileSync(file, readFileSync(file, 'utf8').replace('port: 8080', `port: ${port}`));
}
