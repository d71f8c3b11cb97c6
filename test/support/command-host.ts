import { AsyncLocalStorage } from 'node:async_hooks';
import { main } from '../../src/cli/main.ts';
import type { Ended } from './child.ts';
import type { HostedCommand, MockOutput } from './hosted-commands.ts';

// A process that runs one command of svc after the other, each as if it were alone, or some mocks at once: started by hosted-commands.ts.

const signals = ['SIGINT', 'SIGTERM'] as const;

let output = { stdout: '', stderr: '' };
/** Where a mock prints, as several run at once. */
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

/** Resolves when nothing of a command is left that would keep a process of its own from ending. */
async function untilNothingIsLeft(ownResources: number): Promise<void> {
  while (process.getActiveResourcesInfo().length > ownResources) {
    // Without `unref` the timer would be one of the resources.
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

/** Runs a mock for as long as this process lives. */
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

// Mocks would keep it when whoever started it is gone.
process.once('disconnect', () => process.exit());
