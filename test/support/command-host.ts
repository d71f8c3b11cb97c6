import { AsyncLocalStorage } from 'node:async_hooks';
import { main } from '../../src/cli/main.ts';
import type { Ended } from './child.ts';
import type { HostedCommand, MockOutput } from './hosted-commands.ts';

// The program of two kinds of processes, which hosted-commands.ts starts. One runs commands of svc one after the other. The other runs
// several mocks at the same time.

const signals = ['SIGINT', 'SIGTERM'] as const;

let output = { stdout: '', stderr: '' };
/** The function with which the current mock prints. Each mock has its own, because several mocks run at the same time. */
const printing = new AsyncLocalStorage<(text: string) => void>();

for (const name of ['stdout', 'stderr'] as const) {
  process[name].write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
    const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8');
    const print = printing.getStore();
    if (print) print(text);
    else output[name] += text;
    const written = rest.find((one): one is () => void => typeof one === 'function');
    if (written) process.nextTick(written);
    return true;
  };
}

/** Resolves when nothing that a command opened would keep a process from ending. */
async function untilNothingIsLeft(ownResources: number): Promise<void> {
  while (process.getActiveResourcesInfo().length > ownResources) {
    // Without `unref`, the timer itself would be one of the resources.
    await new Promise((resolve) => setTimeout(resolve, 5).unref());
  }
}

async function run({ args }: HostedCommand): Promise<Ended> {
  const ownResources = process.getActiveResourcesInfo().length;
  output = { stdout: '', stderr: '' };
  const code = await main(args);
  await untilNothingIsLeft(ownResources);
  for (const signal of signals) process.removeAllListeners(signal);
  for (const stream of [process.stdout, process.stderr]) stream.removeAllListeners('error');
  return { code, signal: null, ...output };
}

/** Runs a mock until this process ends. */
function runMock(args: string[], mock: number): void {
  for (const emitter of [process, process.stdout]) emitter.setMaxListeners(0);
  const send = (text: string) => void process.send?.({ mock, text } satisfies MockOutput);
  void printing.run(send, () => main(args));
}

process.on('message', (command: HostedCommand) => {
  process.chdir(command.cwd);
  process.env = { ...command.env };
  if (command.mock === undefined) void run(command).then((end) => process.send?.(end));
  else runMock(command.args, command.mock);
});

// Without this line, mocks would keep this process running after its parent has ended.
process.once('disconnect', () => process.exit());
