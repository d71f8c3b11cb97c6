import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../src/lib/clock.ts';
import { createLog } from '../../src/lib/log.ts';
import type { NodeProcess } from '../../src/server/supervisor/member.ts';
import { Supervisor } from '../../src/server/supervisor/supervisor.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { until } from '../support/receiver.ts';
import { testConfig } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

/** A process that is none. @param starts whether it says that it has started; else it ends at once */
function fakeProcess(starts: boolean): NodeProcess & { end(how: string): void } {
  let end: (how: string) => void = () => {};
  let tell: (message: unknown) => void = () => {};
  const ended = new Promise<string>((resolve) => {
    end = resolve;
  });
  if (!starts) setImmediate(() => end('exit code 9'));
  return {
    pid: 1,
    hears: Promise.resolve(),
    ended,
    send: (message) => {
      const [, id, name] = message as [string, number, string];
      if (name === 'start') setImmediate(() => tell(['done', id, { listening: [], files: new Map() }]));
      if (name === 'stop') setImmediate(() => tell(['done', id, true]));
    },
    onMessage: (listener) => {
      tell = listener;
    },
    disconnect: () => end('exit code 0'),
    kill: () => end('signal SIGKILL'),
    end: (how) => end(how),
  };
}

test('a node that cannot be replaced is tried again with longer and longer pauses, at most ten seconds; then it is given up', async (t) => {
  const clock = new ManualClock();
  const lines: string[] = [];
  const log = createLog({ level: 'warn', format: 'json', clock: systemClock, write: (line) => lines.push(line) });
  const forks: { atMs: number; process: ReturnType<typeof fakeProcess> }[] = [];
  const supervisor = new Supervisor({
    loaded: await testConfig(temporaryFolder(t)),
    nodes: 1,
    fork: () => {
      const process = fakeProcess(forks.length === 0);
      forks.push({ atMs: clock.monotonicMs(), process });
      return process;
    },
    file: undefined,
    nodeLog: { level: 'error', format: 'json', colour: false },
    prepareFolder: () => {},
    clock,
    log,
  });
  await supervisor.start();
  let reason = '';
  void supervisor.givenUp.then((text) => {
    reason = text;
  });
  forks[0]?.process.end('signal SIGKILL');
  await until('it gives up', () => {
    clock.advance(50);
    return reason !== '';
  });
  assert.match(reason, /The node ended: exit code 9/);
  const pauses = forks.slice(1).map(({ atMs }, index) => atMs - (forks[index]?.atMs ?? 0));
  assert.ok(pauses.length >= 4, `${pauses}`);
  for (const [index, pauseMs] of pauses.entries()) assert.ok(pauseMs <= 10_200 && pauseMs >= (pauses[index - 1] ?? 0), `${pauses}`);
  assert.ok((pauses.at(-1) ?? 0) > 500, `${pauses}`);
  assert.match(lines.join(''), /a node ended and is replaced.*signal SIGKILL/);
  assert.match(lines.join(''), /a node could not be started.*exit code 9/);
  assert.equal(await supervisor.stop(), true);
});

/** A process that starts, and asks its supervisor what it is told to ask. */
function askingProcess() {
  const process = fakeProcess(true);
  let toSupervisor: (message: unknown) => void = () => {};
  const answers: unknown[] = [];
  const asking: typeof process = {
    ...process,
    onMessage: (listener) => {
      toSupervisor = listener;
      process.onMessage(listener);
    },
    send: (message) => {
      if ((message as unknown[])[0] === 'call') process.send(message);
      else answers.push(message);
    },
  };
  return { process: asking, answers, ask: (name: string, ...args: unknown[]) => toSupervisor(['call', 7, name, args]) };
}

async function supervisorOf(t: TestContext, clock: ManualClock, processes: NodeProcess[], nodes: number): Promise<Supervisor> {
  const supervisor = new Supervisor({
    loaded: await testConfig(temporaryFolder(t)),
    nodes,
    fork: () => processes.shift() as NodeProcess,
    file: undefined,
    nodeLog: { level: 'error', format: 'json', colour: false },
    prepareFolder: () => {},
    clock,
    log: createLog({ level: 'error', format: 'json', clock, write: () => {} }),
  });
  await supervisor.start();
  return supervisor;
}

test('a node that does not answer what ends of a password wait for is not waited for for ever', async (t) => {
  const clock = new ManualClock();
  const { process, answers, ask } = askingProcess();
  const supervisor = await supervisorOf(t, clock, [process, fakeProcess(true)], 2);
  ask('accountsWritten');
  await new Promise(setImmediate);
  assert.deepEqual(answers, []);
  await until('it goes on', () => {
    clock.advance(500);
    return answers.length > 0;
  });
  assert.deepEqual(answers, [['done', 7, undefined]]);
  assert.equal(await supervisor.stop(), true);
});

test('what a node showed of itself is counted after its death, even if no other node showed it', async (t) => {
  const clock = new ManualClock();
  const [first, second] = [askingProcess(), askingProcess()];
  const rest: NodeProcess[] = [first.process, second.process, fakeProcess(true)];
  const supervisor = await supervisorOf(t, clock, rest, 2);
  const answered = (answers: unknown[]) =>
    until('it is answered', () => {
      clock.advance(500);
      return answers.length > 0;
    });
  first.ask('figures', [
    { name: 'svc_ssh_logins_total', help: '', type: 'counter', aggregator: 'sum', values: [{ value: 4, labels: {} }] },
  ]);
  await answered(first.answers);
  first.process.end('signal SIGKILL');
  await until('it is replaced', () => rest.length === 0);
  second.ask('figures', []);
  await answered(second.answers);
  const [[, , { others }]] = second.answers as [[string, number, { others: { name: string; values: { value: number }[] }[][] }]];
  assert.deepEqual(
    others.flat().map(({ name, values }) => [name, values.map(({ value }) => value)]),
    [['svc_ssh_logins_total', [4]]],
  );
  assert.equal(await supervisor.stop(), true);
});
