/**
 * Runs work that ends early on SIGINT or SIGTERM. A second signal ends the process immediately.
 *
 * @returns the exit code of the work; if a signal arrived, the code of that signal
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
  /** The command ran, and its answer is no. */
  no: 1,
  /** The command was used wrongly: unknown option, missing argument, or a file that is missing or cannot be read. */
  usage: 2,
  /** The command could not run, for example because a port is in use or the data folder cannot be written. */
  cannotRun: 3,
  /** `svc journal verify`: the journal does not match its checkpoints. `svc expectations check`: files are late, missing or malformed. */
  mismatch: 3,
  /** `svc journal verify`: a part of the journal is not covered by any checkpoint. */
  undecided: 4,
  /** `svc inspect`: the file is held. */
  held: 4,
  next: 10,
  rejected: 11,
  noReply: 12,
  partial: 13,
  /**
   * A fault that belongs to no request ended the server (EX_SOFTWARE of sysexits(3)). The service manager should start the server again.
   */
  fault: 70,
  interrupted: 130,
  terminated: 143,
} as const;
