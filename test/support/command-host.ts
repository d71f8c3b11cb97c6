import { main } from '../../src/cli/main.ts';
import type { Ended } from './child.ts';
import type { HostedCommand } from './hosted-commands.ts';

// A process that runs one command of svc after the other, each as if it were alone: started by hosted-commands.ts.

const signals = ['SIGINT', 'SIGTERM'] as const;

let output = { stdout: '', stderr: '' };
for (const name of ['stdout', 'stderr'] as const) {
  process[name].write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
    output[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8');
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

async function run({ args, cwd, env }: HostedCommand): Promise<Ended> {
  const ownResources = process.getActiveResourcesInfo().length;
  output = { stdout: '', stderr: '' };
  process.chdir(cwd);
  process.env = { ...env };
  const code = await main(args);
  await untilNothingIsLeft(ownResources);
  for (const signal of signals) process.removeAllListeners(signal);
  for (const stream of [process.stdout, process.stderr]) stream.removeAllListeners('error');
  return { code, signal: null, ...output };
}

process.on('message', (command: HostedCommand) => {
  void run(command).then((end) => process.send?.(end));
});
