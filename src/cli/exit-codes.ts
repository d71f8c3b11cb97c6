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

/** Exit codes of all commands (docs/spec/command-line.md#exit-codes). */
export const exitCode = {
  done: 0,
  /** Ran, and the answer is no. */
  no: 1,
  /** Wrong use: unknown option, missing argument, file not found or unreadable. */
  usage: 2,
  /** Could not run: port in use, data folder not writable. */
  cannotRun: 3,
  /** `svc journal verify`: something does not fit. */
  mismatch: 3,
  /** `svc journal verify`: no checkpoint covers a part. */
  undecided: 4,
  /** The file is held (`svc inspect`). */
  held: 4,
  next: 10,
  rejected: 11,
  noReply: 12,
  partial: 13,
  /** A fault of the program that belongs to no request ended the server (EX_SOFTWARE of sysexits(3)); start it again. */
  fault: 70,
  interrupted: 130,
  terminated: 143,
} as const;
