import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { executable } from './support/child.ts';
import { freePort } from './support/redis.ts';
import { hasProgram } from './support/requires.ts';
import { temporaryFolder } from './support/temp.ts';

interface Step {
  command: string;
  expected: string;
}

/** The commands of a section, of a whole page without one, with what it says they print; lines that begin with `> ` continue a command. */
function tour(file: string, heading?: string): Step[] {
  const page = readFileSync(join(process.env.SVC_ROOT ?? '.', file), 'utf8');
  const start = heading === undefined ? 0 : page.indexOf(`\n## ${heading}\n`);
  assert.ok(start >= 0, `${file} has the section ${heading}`);
  const end = heading === undefined ? -1 : page.indexOf('\n## ', start + 1);
  const section = page.slice(start, end < 0 ? page.length : end);
  return [...section.matchAll(/```console\n([\s\S]*?)```/g)].flatMap((block) =>
    (block[1] as string)
      .split(/^\$ /m)
      .slice(1)
      .map((step) => {
        const [first = '', ...lines] = step.split('\n');
        const end = lines.findIndex((line) => !line.startsWith('> '));
        const command = [first, ...lines.slice(0, end).map((line) => line.slice(2))].join('\n');
        return { command, expected: lines.slice(end).join('\n') };
      }),
  );
}

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

async function runTour(t: TestContext, file: string, heading?: string): Promise<void> {
  if (!hasProgram(t, 'curl')) return;
  const ports = new Map([
    ['8080', String(await freePort())],
    ['9000', String(await freePort())],
    ['9001', String(await freePort())],
  ]);
  const cwd = temporaryFolder(t);
  // `npx svc` of the tour is the built executable; exec keeps the process that the shell knows and ends.
  const tools = temporaryFolder(t);
  writeFileSync(join(tools, 'npx'), `#!/bin/sh\nshift\nexec ${process.execPath} ${executable} "$@"\n`, { mode: 0o755 });
  const { SVC_CONFIG: _, ...env } = process.env;
  const shell = spawn('bash', ['--norc'], {
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
    const end = isServer ? /listening on \S+\n/ : new RegExp(`done ${index}\n$`);
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

test('the five-minute tour prints what the README says', { timeout: 90_000 }, (t) => runTour(t, 'README.md', 'Five-minute tour'));

test('the second tour, from init to a tested configuration, prints what its page says', { timeout: 90_000 }, (t) =>
  runTour(t, 'docs/integrate/tour.md'),
);

test('three nodes on one machine, and a rolling restart without a failed request, as their page says', { timeout: 110_000 }, async (t) => {
  for (const program of ['curl', 'nginx', 'redis-server']) if (!hasProgram(t, program)) return;
  let group: ChildProcess | undefined;
  t.after(async () => {
    if (!group?.pid) return;
    const closed = new Promise((resolve) => group?.once('close', resolve));
    process.kill(-group.pid, 'SIGKILL');
    await closed;
  });
  const cwd = temporaryFolder(t);
  const example = 'examples/operations/three-nodes';
  cpSync(join(process.env.SVC_ROOT ?? '.', example), join(cwd, example), { recursive: true });
  const ports = new Map<string, number>();
  for (const name of ['6379', '8080', '8081', '8082', '8083', '9101', '9102', '9103']) ports.set(name, await freePort());
  const withPorts = (text: string) => text.replace(/\b(6379|808[0-3]|910[1-3])\b/g, (name) => String(ports.get(name)));
  for (const name of ['svc.config.yaml', 'nginx.conf', 'rolling-restart.sh']) {
    const path = join(cwd, example, name);
    const text = readFileSync(path, 'utf8')
      .replace('PORT=808$number', 'PORT=$(eval echo "\\$PORT$number")')
      .replaceAll('910$number', '$(eval echo "\\$MONITOR$number")');
    writeFileSync(path, withPorts(text));
  }
  const tools = temporaryFolder(t);
  writeFileSync(join(tools, 'npx'), `#!/bin/sh\nshift\nexec ${process.execPath} ${executable} "$@"\n`, { mode: 0o755 });
  const numbered = [1, 2, 3].flatMap((number) => [
    [`PORT${number}`, String(ports.get(`808${number}`))],
    [`MONITOR${number}`, String(ports.get(`910${number}`))],
  ]);
  const env = { ...process.env, ...Object.fromEntries(numbered), NO_COLOR: '1', PATH: `${tools}:${process.env.PATH}` };
  // A group of its own, which ends with the test whatever was started in it.
  const shell = spawn('bash', ['--norc'], { cwd, env, detached: true });
  group = shell;
  shell.stdin.write('exec 2>&1\n');
  let output = '';
  shell.stdout.on('data', (chunk) => {
    output += chunk;
  });
  const steps = tour('docs/operate/nodes.md', 'Three nodes on one machine');
  assert.ok(steps.length >= 15, 'the tours were found');
  for (const [index, { command, expected }] of steps.entries()) {
    output = '';
    const isBackground = command.endsWith('&');
    shell.stdin.write(`${withPorts(command)}\n${isBackground ? '' : `echo "done ${index}"\n`}`);
    const wanted = withPorts(expected).trim();
    const deadline = Date.now() + 40_000;
    const isOver = () => (isBackground ? output.includes(wanted) : output.endsWith(`done ${index}\n`));
    while (!isOver() && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(output.replace(`done ${index}\n`, '').trim(), wanted, command);
  }
});
