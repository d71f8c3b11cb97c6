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
import { testConfig } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

const { hostileMessages } = createRequire(import.meta.url)(
  join(process.env.SVC_ROOT ?? process.cwd(), 'test/support/hostile-messages.cjs'),
) as {
  hostileMessages: unknown[];
};

/** A message between supervisor and node. */
type Message = ['call', id: number, name: string, args: unknown[]] | ['done' | 'failed', id: number, value: unknown];

/** A process that is none, and replies to what it is called. @param starts whether it says that it has started; else it ends at once */
class FakeProcess extends EventEmitter {
  readonly pid = 1;
  connected = true;
  readonly calls: Message[] = [];
  readonly replies: Message[] = [];
  readonly #starts: boolean;

  constructor(starts = true) {
    super();
    this.#starts = starts;
    this.once('newListener', () => this.tell(['call', 0, 'hello', []]));
  }

  send(message: Message): boolean {
    if (message[0] !== 'call') return message[1] === 0 || this.replies.push(message) > 0;
    const [, id, name] = message;
    this.calls.push(message);
    if (name === 'start' && !this.#starts) setImmediate(() => this.end(9, null));
    else if (name === 'start') this.tell(['done', id, { listening: [], files: new Map() }]);
    if (name === 'stop') this.tell(['done', id, true]);
    return true;
  }

  /** Tells the supervisor something. */
  tell(message: unknown): void {
    setImmediate(() => this.emit('message', message));
  }

  disconnect(): void {
    this.end(0, null);
  }

  kill(): void {
    this.end(null, 'SIGKILL');
  }

  end(code: number | null, signal: string | null): void {
    this.connected = false;
    this.emit('exit', code, signal);
  }
}

/** A supervisor of processes that are none. @param fork gives the next one */
async function supervisorOf(t: TestContext, nodes: number, fork: () => FakeProcess) {
  const clock = new ManualClock();
  const lines: string[] = [];
  const supervisor = new Supervisor({
    loaded: await testConfig(temporaryFolder(t)),
    nodes,
    fork: () => fork() as unknown as ChildProcess,
    file: undefined,
    nodeLog: { level: 'error', format: 'json', colour: false },
    prepareFolder: () => {},
    clock,
    log: createLog({ level: 'warn', format: 'json', clock: systemClock, write: (line) => lines.push(line) }),
  });
  await supervisor.start();
  return { supervisor, clock, lines };
}

test('a node that cannot be replaced is tried again with longer and longer pauses, at most ten seconds; then it is given up', async (t) => {
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

test('a node that does not answer what ends of a password wait for is not waited for for ever', async (t) => {
  const [asking, silent] = [new FakeProcess(), new FakeProcess()];
  const rest = [asking, silent];
  const { supervisor, clock } = await supervisorOf(t, 2, () => rest.shift() as FakeProcess);
  asking.tell(['call', 7, 'accountsWritten', []]);
  await until('the other one is asked', () => silent.calls.at(-1)?.[2] === 'lookAtAccounts');
  assert.deepEqual(asking.replies, []);
  await until('it goes on', () => {
    clock.advance(500);
    return asking.replies.length > 0;
  });
  assert.deepEqual(asking.replies, [['done', 7, undefined]]);
  assert.equal(await supervisor.stop(), true);
});

const figures = (value: number) => [
  { name: 'svc_ssh_logins_total', help: '', type: 'counter', aggregator: 'sum', values: [{ value, labels: {} }] },
];

/** What a node was told of the figures of the others, by name. */
function toldFigures({ replies }: FakeProcess) {
  const [, , told] = replies.at(-1) as Message as ['done', number, { others: ReturnType<typeof figures>[] }];
  return told.others.flat().map(({ name, values }) => [name, values.map(({ value }) => value)]);
}

test('what a node showed of itself is counted after its death, even if no other node showed it', async (t) => {
  const [first, second] = [new FakeProcess(), new FakeProcess()];
  const rest = [first, second, new FakeProcess()];
  const { supervisor, clock } = await supervisorOf(t, 2, () => rest.shift() as FakeProcess);
  const answered = ({ replies }: FakeProcess) =>
    until('it is answered', () => {
      clock.advance(500);
      return replies.length > 0;
    });
  first.tell(['call', 7, 'figures', [figures(4)]]);
  await answered(first);
  first.kill();
  await until('it is replaced', () => rest.length === 0);
  second.tell(['call', 7, 'figures', [[]]]);
  await answered(second);
  assert.deepEqual(toldFigures(second), [['svc_ssh_logins_total', [4]]]);
  assert.equal(await supervisor.stop(), true);
});

test('a node that dies while its figures are gathered is counted once', async (t) => {
  const [asking, dying, slow] = [new FakeProcess(), new FakeProcess(), new FakeProcess()];
  const rest = [asking, dying, slow, new FakeProcess()];
  const { supervisor, clock } = await supervisorOf(t, 3, () => rest.shift() as FakeProcess);
  asking.tell(['call', 7, 'figures', [[]]]);
  await until('both others are asked', () => [dying, slow].every(({ calls }) => calls.at(-1)?.[2] === 'figures'));
  dying.tell(['done', dying.calls.at(-1)?.[1], figures(4)]);
  setImmediate(() => dying.kill());
  await until('it is replaced', () => {
    clock.advance(50);
    return rest.length === 0;
  });
  slow.tell(['done', slow.calls.at(-1)?.[1], figures(2)]);
  await until('it is answered', () => asking.replies.length > 0);
  const shown = toldFigures(asking).flatMap(([, values]) => values as number[]);
  assert.equal(
    shown.reduce((sum, value) => sum + value, 0),
    6,
    `${shown}`,
  );
  assert.equal(await supervisor.stop(), true);
});

test('nodes that die at the same time are all counted', async (t) => {
  const [first, second, third] = [new FakeProcess(), new FakeProcess(), new FakeProcess()];
  const rest = [first, second, third, new FakeProcess(), new FakeProcess()];
  const { supervisor, clock } = await supervisorOf(t, 3, () => rest.shift() as FakeProcess);
  const ask = async (process: FakeProcess, own: ReturnType<typeof figures> | never[]) => {
    const before = process.replies.length;
    process.tell(['call', 7, 'figures', [own]]);
    await until('it is answered', () => {
      clock.advance(500);
      return process.replies.length > before;
    });
  };
  await ask(first, figures(4));
  await ask(second, figures(2));
  first.kill();
  second.kill();
  await until('both are replaced', () => {
    clock.advance(50);
    return rest.length === 0;
  });
  await ask(third, []);
  assert.deepEqual(toldFigures(third), [['svc_ssh_logins_total', [6]]]);
  assert.equal(await supervisor.stop(), true);
});

test('hostile messages of a node change nothing and are told once; a node cannot answer for another one', async (t) => {
  const [hostile, honest] = [new FakeProcess(), new FakeProcess()];
  const rest = [hostile, honest];
  const { supervisor, lines } = await supervisorOf(t, 2, () => rest.shift() as FakeProcess);
  honest.tell(['call', 1, 'figures', [[]]]);
  await until('the hostile one is asked', () => hostile.calls.at(-1)?.[2] === 'figures');
  hostile.tell(['done', hostile.calls.at(-1)?.[1], figures(1)]);
  await until('the honest one is answered', () => honest.replies.length === 1);
  assert.deepEqual(lines, []);
  hostile.tell(['call', 1, 'figures', [figures(1)]]);
  await until('the honest one is asked', () => honest.calls.at(-1)?.[2] === 'figures');
  const id = honest.calls.at(-1)?.[1];
  for (const message of [...hostileMessages, ['done', id, figures(1000)], ['failed', id, { message: 'no' }]]) hostile.tell(message);
  honest.tell(['done', id, figures(2)]);
  await until('it is answered', () => hostile.replies.length > 0);
  assert.deepEqual(toldFigures(hostile), [['svc_ssh_logins_total', [2]]]);
  assert.equal(hostile.replies.length, 1, 'to nothing else');
  assert.equal(lines.length, 1, lines.join(''));
  assert.match(lines[0] ?? '', /"a malformed or unexpected message of a node is ignored","node":1,/);
  assert.ok((lines[0] ?? '').length < 300);
  // The reply to a question that was asked does not fit: the figures of before stay.
  hostile.tell(['call', 2, 'figures', [figures(1)]]);
  await until('the honest one is asked again', () => honest.calls.at(-1)?.[1] !== id);
  honest.tell(['done', honest.calls.at(-1)?.[1], [{ ...figures(9)[0], aggregator: 'constructor' }]]);
  await until('it is answered again', () => hostile.replies.length > 1);
  assert.deepEqual(toldFigures(hostile), [['svc_ssh_logins_total', [2]]]);
  assert.match(lines[1] ?? '', /is ignored","node":2,/);
  assert.equal(await supervisor.stop(), true);
});
