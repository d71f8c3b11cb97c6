import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { runHosted, startHostedMock } from './hosted-commands.ts';
import { watchOutput } from './secret-watch.ts';
import { learnSecret } from './secrets.ts';

/** The executable that the build creates. */
export const executable = join(process.env.SVC_ROOT ?? process.cwd(), 'dist/svc.mjs');

/** The command that runs `svc`: this Node.js with the executable, or the binary of SVC_TEST_BINARY (`scripts/test.mjs --binary`). */
export const program: readonly [string, ...string[]] = process.env.SVC_TEST_BINARY
  ? [process.env.SVC_TEST_BINARY]
  : [process.execPath, executable];

export const isBinary = program.length === 1;

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** A running `svc`. */
export interface Running {
  child: ChildProcess;
  cwd: string;
  /** Resolves when a line of stdout matches. @throws if the process ends earlier */
  line(pattern: RegExp): Promise<RegExpExecArray>;
  ended: Promise<Ended>;
  stdout(): string;
  stderr(): string;
}

interface Options {
  cwd: string;
  env?: Record<string, string>;
  input?: string | Buffer;
  keepInput?: boolean;
  uid?: number;
  /** A program that runs `svc`, such as `prlimit`, with its arguments. */
  under?: readonly string[];
}

/** Starts `svc` with arguments. The process is ended at the end of the test. */
export function start(t: TestContext, args: string[], options: Options): Running {
  const [first = '', ...rest] = [...(options.under ?? []), ...program, ...args];
  const child = spawn(first, rest, {
    cwd: options.cwd,
    env: environment(options),
    ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  child.stdin.on('error', () => {});
  if (!options.keepInput) child.stdin.end(options.input ?? '');
  const ended = new Promise<Ended>((resolve) => child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr })));
  learnArguments(args);
  learnInput(args, options);
  const name = `svc ${args[0]}`;
  const stop = () => {
    child.kill('SIGKILL');
    return ended;
  };
  watchOutput(t, stop, [
    { where: `standard output of ${name}`, text: () => stdout },
    { where: `standard error of ${name}`, text: () => stderr },
  ]);
  const line = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const look = () => {
        const match = pattern.exec(stdout);
        if (match) resolve(match);
      };
      child.stdout.on('data', look);
      look();
      void ended.then((end) => reject(new Error(`svc ended (${end.code}) before ${pattern}: ${end.stderr}`)));
    });
  return { child, cwd: options.cwd, line, ended, stdout: () => stdout, stderr: () => stderr };
}

/**
 * Runs `svc` to its end. A run gets its own process only if it needs one; all other runs share a process, which does not use the
 * executable. cli/executable.long.test.ts tests that the executable has every command.
 */
export async function run(t: TestContext, args: string[], options: Options): Promise<Ended> {
  if (needsProcess(options)) return start(t, args, options).ended;
  learnArguments(args);
  learnInput(args, options);
  const ended = await runHosted({ args, cwd: options.cwd, env: environment(options) });
  watchOutput(t, () => {}, [
    { where: `standard output of svc ${args[0]}`, text: () => ended.stdout },
    { where: `standard error of svc ${args[0]}`, text: () => ended.stderr },
  ]);
  return ended;
}

/** Returns whether a run needs its own process: if it reads stdin, if it concerns the process itself, or if the binary is tested. */
function needsProcess({ env = {}, input, uid, under }: Options): boolean {
  return isBinary || input !== undefined || uid !== undefined || under !== undefined || 'NODE_OPTIONS' in env;
}

/** A running `svc mock`. */
export interface Mock {
  url: string;
  stdout(): string;
}

/** Starts `svc mock` with arguments. All mocks share a process, and run until the test process ends. Paths of files must be absolute. */
export async function startMock(t: TestContext, args: readonly string[], cwd: string): Promise<Mock> {
  const command = ['mock', ...args, '--port', '0'];
  learnArguments(command);
  let stdout = '';
  watchOutput(t, () => {}, [{ where: 'output of svc mock', text: () => stdout }]);
  const url = await new Promise<string>((resolve) => {
    startHostedMock({ args: command, cwd, env: environment({ cwd }) }, (text) => {
      stdout += text;
      const [, url] = /listening(?: on |":")([^\s"]+)/.exec(stdout) ?? [];
      if (url !== undefined) resolve(url);
    });
  });
  return { url, stdout: () => stdout };
}

function environment(options: Options): NodeJS.ProcessEnv {
  const { NODE_TEST_CONTEXT: _, SVC_CONFIG: __, ...env } = process.env;
  return { ...env, ...options.env };
}

function learnArguments(args: readonly string[]): void {
  for (const [index, value] of args.entries()) {
    const option = args[index - 1];
    if (option === '--user' || option === '--accept') learnSecret(/:([^=]+)/.exec(value)?.[1], `${option} of svc`);
    if (option === '--password' || option === '--secret') learnSecret(value, `${option} of svc`);
  }
}

function learnInput(args: readonly string[], { env = {}, input }: Options): void {
  for (const [name, value] of Object.entries(env))
    if (/pass|secret|token|key/i.test(name)) learnSecret(value, `${name} of svc's environment`);
  const readsPassword = args.includes('hash-password') || args.includes('--password-stdin');
  if (readsPassword && input !== undefined) learnSecret(input.toString().split('\n')[0], 'what svc read from standard input');
}

/** Returns the child processes of a process (proc(5)). */
export function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** Returns whether a process exists and is not a zombie. */
export function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
