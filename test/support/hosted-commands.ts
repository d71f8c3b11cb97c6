import { type ChildProcess, fork } from 'node:child_process';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { Ended } from './child.ts';

/** A command of `svc` in the form that its host receives. */
export interface HostedCommand {
  args: string[];
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** Number of a mock, because this host runs several mocks at the same time; undefined for a command that ends by itself. */
  mock?: number;
}

export interface MockOutput {
  mock: number;
  text: string;
}

let host: ChildProcess | undefined;
/** Output of Node.js itself, such as warnings. */
let otherOutput = '';
let before: Promise<unknown> = Promise.resolve();

/**
 * Runs a command of `svc` in a process that the tests share, because most commands take less time than the loading of the program. The
 * commands run one after the other. As in its own process, a command does not end while something that it opened is still open.
 */
export function runHosted(command: HostedCommand): Promise<Ended> {
  const ended = before.then(() => ask(command));
  before = ended.catch(() => {});
  return ended;
}

function ask(command: HostedCommand): Promise<Ended> {
  host ??= startHost();
  const to = host;
  return new Promise((resolve, reject) => {
    const lost = (code: number | null, signal: NodeJS.Signals | null) => {
      host = undefined;
      reject(new Error(`the process of svc ${command.args.join(' ')} ended: ${code ?? signal}`));
    };
    to.ref();
    to.once('exit', lost);
    to.once('message', (end: Ended) => {
      to.off('exit', lost);
      to.unref();
      resolve({ ...end, stderr: end.stderr + otherOutput });
      otherOutput = '';
    });
    to.send(command);
  });
}

let mockHost: ChildProcess | undefined;
let mocks = 0;
let silentMocks = 0;

/** Runs a mock of `svc` in a process that all mocks share, until the test process ends. @param onText called with the mock's output */
export function startHostedMock(command: HostedCommand, onText: (text: string) => void): void {
  mockHost ??= startHost().setMaxListeners(0);
  const host = mockHost;
  const mock = mocks++;
  let isSilent = true;
  // Until the mock listens, the test process must not end.
  if (silentMocks++ === 0) host.ref();
  host.on('message', (output: MockOutput) => {
    if (output.mock !== mock) return;
    if (isSilent && --silentMocks === 0) host.unref();
    isSilent = false;
    onText(output.text);
  });
  host.send({ ...command, mock });
}

function startHost(): ChildProcess {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const started = fork(join(process.env.SVC_TESTS ?? '', 'support/command-host.mjs'), {
    env,
    execArgv: [],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const errors = started.stderr as Socket;
  errors.on('data', (text) => {
    otherOutput += text;
  });
  // The host ends when its channel closes, which happens when the test process ends. It must not keep the test process running.
  errors.unref();
  started.channel?.unref();
  return started;
}
