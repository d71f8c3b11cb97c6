import { exitCode } from './exit-codes.ts';

/**
 * Runs work that SIGINT and SIGTERM end early; a second signal ends the process at once.
 *
 * @returns the work's exit code, or that of the signal
 */
export async function interruptible(work: (signal: AbortSignal) => Promise<number>): Promise<number> {
  const controller = new AbortController();
  let code: number | undefined;
  const stop = (signalCode: number) => () => {
    if (code !== undefined) process.exit(signalCode);
    code = signalCode;
    controller.abort();
  };
  const onInterrupt = stop(exitCode.interrupted);
  const onTerminate = stop(exitCode.terminated);
  process.on('SIGINT', onInterrupt);
  process.on('SIGTERM', onTerminate);
  try {
    const result = await work(controller.signal);
    return code ?? result;
  } finally {
    process.off('SIGINT', onInterrupt);
    process.off('SIGTERM', onTerminate);
  }
}
