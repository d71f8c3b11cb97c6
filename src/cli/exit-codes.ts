/** Exit codes of all commands (docs/spec/command-line.md#exit-codes). */
export const exitCode = {
  done: 0,
  /** Ran, and the answer is no. */
  no: 1,
  /** Wrong use: unknown option, missing argument, file not found or unreadable. */
  usage: 2,
  /** Could not run: port in use, data folder not writable. */
  cannotRun: 3,
  next: 10,
  rejected: 11,
  noReply: 12,
  partial: 13,
  /** A fault of the program that belongs to no request ended the server (EX_SOFTWARE of sysexits(3)); start it again. */
  fault: 70,
  interrupted: 130,
  terminated: 143,
} as const;
