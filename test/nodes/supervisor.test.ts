import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../src/lib/clock.ts';
import { createLog } from '../../src/lib/log.ts';
import { Supervisor } from '../../src/server/supervisor/supervisor.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { until } from '../support/receiver.ts';
import { testConfig, writeConfig } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

const { hostileMessages } = createRequire(import.meta.url)(
  join(process.env.SVC_ROOT ?? process.cwd(), 'test/support/hostile-messages.cjs'),
) as {
  hostileMessages: unknown[];
};

/** A message between supervisor and node. */
type Message = ['ask', id: number, name: string, value: unknown] | ['done' | 'failed', id: number, value: unknown];

/** A fake process that answers calls. @param starts whether it reports a start; otherwise it ends at once */
class FakeProcess extends EventEmitter {
  readonly pid = 1;
  connected = true;
  readonly calls: Message[] = [];
  readonly replies: Message[] = [];
  readonly #starts: boolean;

  constructor(starts = true) {
    super();
    this.#starts = starts;
    this.once('newListener', () => this.tell(['ask', 0, 'hello', undefined]));
  }

  send(message: Message): boolean {
    if (message[0] !== 'ask') return message[1] === 0 || this.replies.push(message) > 0;
    const [, id, name] = message;
    this.calls.push(message);
    if (name === 'start' && !this.#starts) setImmediate(() => this.end(9, null));
    else if (name === 'start') this.tell(['done', id, []]);
    if (name === 'stop') setImmediate(() => this.end(0, null));
    return true;
  }

  tell(message: unknown): void {
    setImmediate(() => this.emit('message', message));
  }

  kill(): void {
    this.end(null, 'SIGKILL');
  }

  end(code: number | null, signal: string | null): void {
    this.connected = false;
    this.emit('exit', code, signal);
  }
}

async function supervisorOf(t: TestContext, nodes: number, fork: () => FakeProcess) {
  const clock = new ManualClock();
  const lines: string[] = [];
  const folder = temporaryFolder(t);
  await writeConfig(folder);
  const supervisor = new Supervisor({
    loaded: await testConfig(folder),
    nodes,
    fork: () => fork() as unknown as ChildProcess,
    file: { path: join(folder, 'svc.config.json'), env: {}, textOf: ({ message }) => message },
    nodeLog: { level: 'error', format: 'json', colour: false },
    prepareFolder: () => {},
    clock,
    log: createLog({ level: 'warn', format: 'json', clock: systemClock, write: (line) => lines.push(line) }),
  });
  await supervisor.start();
  return { supervisor, clock, lines };
}

test('a node that cannot be replaced is started again at growing intervals up to ten seconds, and is then given up', async (t) => {
  const forks: { atMs: number; process: FakeProcess }[] = [];
  let nowMs = () => 0;
  const { supervisor, clock, lines } = await supervisorOf(t, 1, () => {
    const process = new FakeProcess(forks.length === 0);
    forks.push({ atMs: nowMs(), process });
    return process;
  });
  nowMs = () => clock.monotonicMs();
  if (forks[0]) forks[0].atMs = nowMs();
  let reason = '';
  void supervisor.givenUp.then((text) => {
    reason = text;
  });
  forks[0]?.process.kill();
  await until('the supervisor gives up', () => {
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

const figures = (value: number) => [
  { name: 'svc_ssh_logins_total', help: '', type: 'counter', aggregator: 'sum', values: [{ value, labels: {} }] },
];

/** Lets a process request the figures of all processes. @returns the sum of the logins in the reply */
async function sumFor(process: FakeProcess, clock: ManualClock): Promise<number> {
  const before = process.replies.length;
  process.tell(['ask', 7, 'figures', undefined]);
  await until('the figures are sent', () => {
    clock.advance(500);
    return process.replies.length > before;
  });
  return told(process);
}

/** Returns the sum of the logins in the last figures that a process got. */
function told({ replies }: FakeProcess): number {
  const [, , all] = replies.at(-1) as Message as ['done', number, ReturnType<typeof figures>[]];
  const logins = all.flat().filter(({ name }) => name === 'svc_ssh_logins_total');
  return logins.flatMap(({ values }) => values).reduce((sum, { value }) => sum + value, 0);
}

function reply(process: FakeProcess, value: unknown): void {
  process.tell(['done', process.calls.at(-1)?.[1], value]);
}

const isAsked = ({ calls }: FakeProcess) => calls.at(-1)?.[2] === 'figures';

test('the figures of a node still count after its death, even if no other node reported them', async (t) => {
  const [first, second] = [new FakeProcess(), new FakeProcess()];
  const rest = [first, second, new FakeProcess()];
  const { supervisor, clock } = await supervisorOf(t, 2, () => rest.shift() as FakeProcess);
  const shown = sumFor(first, clock);
  await until('the first node is asked', () => isAsked(first));
  reply(first, figures(4));
  assert.equal(await shown, 4);
  first.kill();
  await until('the dead node is replaced', () => rest.length === 0);
  assert.equal(await sumFor(second, clock), 4);
  assert.equal(await supervisor.stop(), true);
});

test('a node that dies while its figures are gathered is counted once', async (t) => {
  const [asking, dying, slow] = [new FakeProcess(), new FakeProcess(), new FakeProcess()];
  const rest = [asking, dying, slow, new FakeProcess()];
  const { supervisor, clock } = await supervisorOf(t, 3, () => rest.shift() as FakeProcess);
  asking.tell(['ask', 7, 'figures', undefined]);
  await until('all nodes are asked', () => [asking, dying, slow].every(isAsked));
  reply(dying, figures(4));
  reply(asking, []);
  setImmediate(() => dying.kill());
  await until('the dead node is replaced', () => {
    clock.advance(50);
    return rest.length === 0;
  });
  reply(slow, figures(2));
  await until('the figures are sent', () => asking.replies.length > 0);
  assert.equal(told(asking), 6);
  assert.equal(await supervisor.stop(), true);
});

test('nodes that die at the same time are all counted', async (t) => {
  const [first, second, third] = [new FakeProcess(), new FakeProcess(), new FakeProcess()];
  const rest = [first, second, third, new FakeProcess(), new FakeProcess()];
  const { supervisor, clock } = await supervisorOf(t, 3, () => rest.shift() as FakeProcess);
  const shown = sumFor(third, clock);
  await until('all nodes are asked', () => [first, second, third].every(isAsked));
  reply(first, figures(4));
  reply(second, figures(2));
  assert.equal(await shown, 6);
  first.kill();
  second.kill();
  await until('both dead nodes are replaced', () => {
    clock.advance(50);
    return rest.length === 0;
  });
  assert.equal(await sumFor(third, clock), 6);
  assert.equal(await supervisor.stop(), true);
});

test('hostile messages of a node change nothing and are logged once; a node cannot answer for another one', async (t) => {
  const [hostile, honest] = [new FakeProcess(), new FakeProcess()];
  const rest = [hostile, honest];
  const { supervisor, lines } = await supervisorOf(t, 2, () => rest.shift() as FakeProcess);
  const ask = async (id: number) => {
    const before = honest.calls.length;
    hostile.tell(['ask', id, 'figures', undefined]);
    await until('both nodes are asked', () => isAsked(hostile) && honest.calls.length > before);
  };
  const answered = (count: number) => until('the figures are sent', () => hostile.replies.length === count);
  await ask(1);
  reply(hostile, figures(1));
  reply(honest, figures(2));
  await answered(1);
  assert.deepEqual([told(hostile), lines], [3, []]);
  await ask(2);
  const id = honest.calls.at(-1)?.[1];
  for (const message of [...hostileMessages, ['done', id, figures(1000)], ['failed', id, { message: 'no' }]]) hostile.tell(message);
  reply(hostile, figures(1));
  reply(honest, figures(2));
  await answered(2);
  assert.equal(told(hostile), 3);
  assert.equal(lines.length, 1, lines.join(''));
  assert.match(lines[0] ?? '', /"a malformed or unexpected message of a node is ignored","node":1,/);
  assert.ok((lines[0] ?? '').length < 300);
  // The reply does not fit the question: the previous figures stay.
  await ask(3);
  reply(hostile, figures(1));
  reply(honest, [{ ...figures(9)[0], aggregator: 'constructor' }]);
  await answered(3);
  assert.equal(told(hostile), 3);
  assert.match(lines[1] ?? '', /is ignored","node":2,/);
  assert.equal(await supervisor.stop(), true);
});

test('one node decides about a reload, and another one that cannot follow is replaced', async (t) => {
  const [first, second] = [new FakeProcess(), new FakeProcess()];
  const rest = [first, second, new FakeProcess()];
  const { supervisor, lines } = await supervisorOf(t, 2, () => rest.shift() as FakeProcess);
  const refused = supervisor.reloadFile();
  await until('the first node is asked', () => first.calls.at(-1)?.[2] === 'reload');
  first.tell(['failed', first.calls.at(-1)?.[1], { code: 'unavailable', message: 'the port is in use' }]);
  const { reloaded, reason } = await refused;
  assert.deepEqual([reloaded, reason], [false, 'the port is in use']);
  assert.equal(second.calls.at(-1)?.[2], 'start', 'the other node was not asked');
  const taken = supervisor.reloadFile();
  await until('the first node is asked again', () => first.calls.filter((message) => message[2] === 'reload').length === 2);
  reply(first, { sessions: 1, connections: 0, transfers: 2 });
  await until('the other node is asked', () => second.calls.at(-1)?.[2] === 'reload');
  second.tell(['failed', second.calls.at(-1)?.[1], { message: 'no more files' }]);
  const report = await taken;
  assert.deepEqual([report.reloaded, report.ended], [true, { sessions: 1, connections: 0, transfers: 2 }]);
  await until('the other node is replaced', () => rest.length === 0);
  assert.match(lines.join(''), /a node could not take over the configuration","node":2,"reason":"no more files"/);
  assert.equal(await supervisor.stop(), true);
});
