import assert from 'node:assert/strict';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isBinary, program } from './child.ts';
import { until } from './receiver.ts';
import { freePort } from './redis.ts';
import { hasProgram } from './requires.ts';
import { temporaryFolder } from './temp.ts';
import { tour } from './tour.ts';

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

/** The command that writes a configuration, whose port may be taken on this machine. */
const init = 'svc init 2> /dev/null';

interface TourShell {
  shell: ChildProcessWithoutNullStreams;
  cwd: string;
  /** The free ports that replace the ports on the page. */
  ports: ReadonlyMap<string, string>;
  withPorts(text: string): string;
}

/**
 * Starts a shell like the one that a reader of the page uses: `svc` is installed, and stdout and stderr are one output. At the end of the
 * test, the shell and everything that runs in it are ended.
 */
async function tourShell(t: TestContext): Promise<TourShell> {
  const ports = new Map<string, string>();
  for (const shown of ['8080', '9000', '9001', '2222']) ports.set(shown, String(await freePort()));
  const cwd = temporaryFolder(t);
  // `svc` is a script that runs the built executable with `exec`. So the process ID stays the same, and the shell can end the process.
  const tools = temporaryFolder(t);
  writeFileSync(join(tools, 'svc'), `#!/bin/sh\nexec ${program.join(' ')} "$@"\n`, { mode: 0o755 });
  const { SVC_CONFIG: _, ...env } = process.env;
  // A binary must not need Node.js. So for a binary, Node.js is hidden from the tour, if the test has the privileges for this.
  const withoutNode = 'mount --bind /bin/false "$(readlink -f "$(command -v node)")" && exec bash --norc';
  const isHidden = isBinary && process.getuid?.() === 0;
  const shell = spawn(isHidden ? 'unshare' : 'bash', isHidden ? ['--mount', 'bash', '-c', withoutNode] : ['--norc'], {
    cwd,
    env: { ...env, NO_COLOR: '1', PATH: `${tools}:${process.env.PATH}` },
    detached: true,
  });
  // The whole process group is killed, because the servers of a failed tour must not continue to run.
  t.after(() => {
    try {
      process.kill(-(shell.pid as number), 'SIGKILL');
    } catch {}
  });
  shell.stdin.write("exec 2>&1\ntrap 'kill $(jobs -p)' EXIT\n");
  const withPorts = (text: string) => [...ports].reduce((changed, [shown, port]) => changed.replaceAll(shown, port), text);
  return { shell, cwd, ports, withPorts };
}

/**
 * Pastes all commands of a page into a shell at once, and waits until the last one has ended.
 *
 * @returns the shell's folder; undefined if curl is not installed
 */
export async function pasteTour(t: TestContext, file: string): Promise<string | undefined> {
  if (!hasProgram(t, 'curl')) return undefined;
  const { shell, cwd, ports, withPorts } = await tourShell(t);
  const commands = tour(file).map(({ command }) =>
    command === init ? `${command}\nsed -i 's/port: 8080/port: ${ports.get('8080')}/' svc.config.yaml` : withPorts(command),
  );
  let output = '';
  shell.stdout.on('data', (chunk) => {
    output += chunk;
  });
  // As in a terminal, a program that reads standard input would swallow the commands after it.
  shell.stdin.write(`${commands.join('\n')}\necho "all done"\n`);
  await until('the last command has ended', () => output.includes('all done'));
  shell.stdin.end();
  await new Promise((resolve) => shell.on('close', resolve));
  return cwd;
}

/** Types the commands of a page into a shell. Asserts that their output is that on the page. */
export async function runTour(t: TestContext, file: string, heading?: string): Promise<void> {
  if (!hasProgram(t, 'curl')) return;
  const { shell, cwd, ports, withPorts } = await tourShell(t);
  let output = '';
  shell.stdout.on('data', (chunk) => {
    output += chunk;
  });
  const steps = tour(file, heading);
  assert.ok(steps.length >= 10, 'the tour was found');
  for (const [index, { command, expected }] of steps.entries()) {
    output = '';
    const isServer = command.endsWith('&');
    const real = withPorts(command);
    // In the first tour, one command misspells an option on purpose. The port in this command is not changed.
    const typed = command.includes('prot: 8080') ? command : real;
    shell.stdin.write(`${typed}\n${isServer ? '' : `echo "done ${index}"\n`}`);
    if (isServer && expected.trim() === '') {
      await untilAccepting(Number(/--port (\d+)/.exec(real)?.[1]));
      continue;
    }
    const lines = expected.trim().split('\n').length;
    const end = isServer ? new RegExp(`^(.*(listening on|Folder:) \\S+.*\n){${lines}}`, 'm') : new RegExp(`done ${index}\n$`);
    for (let round = 0; !end.test(output) && round < 2000; round++) await sleep(10);
    const printed = [...ports].reduce(
      (text, [shown, port]) => text.replaceAll(port, shown),
      output.replace(new RegExp(`done ${index}\n$`), ''),
    );
    assert.equal(normalised(printed, cwd), normalised(expected, cwd), command);
    if (command === init) usePort(join(cwd, 'svc.config.yaml'), ports.get('8080') as string);
  }
  shell.stdin.end();
  await new Promise((resolve) => shell.on('close', resolve));
}

/** Changes the port in the configuration that `svc init` wrote, because it may be taken on this machine. */
function usePort(file: string, port: string): void {
  writeFileSync(file, readFileSync(file, 'utf8').replace('port: 8080', `port: ${port}`));
}
