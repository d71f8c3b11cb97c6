import { availableParallelism } from 'node:os';
import { type Command, InvalidArgumentError } from 'commander';

/** The action of a command. It returns the exit code. */
export type Action = () => Promise<number>;

/** Adds a command to the program. `run` reports the errors of the action. */
export type Register = (program: Command, run: (action: Action) => Promise<void>) => void;

/** Reads a port. */
export function portNumber(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new InvalidArgumentError('It must be a port number from 0 to 65535.');
  return port;
}

/** Reads a whole number above 0. */
export function positiveNumber(text: string): number {
  if (!/^[1-9]\d{0,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number above 0.');
  return Number(text);
}

/** Reads a time in seconds. */
export function secondsNumber(text: string): number {
  if (!/^\d+(\.\d+)?$/.test(text)) throw new InvalidArgumentError('It must be a number of seconds.');
  return Number(text);
}

/** Reads a duration: seconds, or a number with a unit (`10m`, `8h`, `30d`). @returns seconds */
export function durationSeconds(text: string): number {
  const [, amount, unit = 's'] = /^(\d{1,9}(?:\.\d+)?)([smhd])?$/.exec(text) ?? [];
  if (amount === undefined) throw new InvalidArgumentError('It must be seconds, or a time such as 30s, 10m, 8h or 3d.');
  return Number(amount) * { s: 1, m: 60, h: 3600, d: 86_400 }[unit as 's'];
}

/** Reads a status code. */
export function statusNumber(text: string): number {
  if (!/^[2-9]\d\d$/.test(text)) throw new InvalidArgumentError('It must be a status code from 200 to 999.');
  return Number(text);
}

/** Collects the values of an option that may be given several times. */
export function collect(text: string, before: string[]): string[] {
  return [...before, text];
}

/** Reads a number of nodes. `auto` means one per core. */
export function workerCount(text: string): number {
  if (text === 'auto') return availableParallelism();
  if (!/^[1-9]\d{0,2}$/.test(text)) throw new InvalidArgumentError('It must be a number of processes, or auto.');
  return Number(text);
}

/** Help text of the commands that ask a running service. */
export const serviceHelp = `The command asks the service through the socket control.sock in the data folder of the service. Only root and the OS account of the service may open the socket. If server.state is redis, any node answers for all nodes.

Exit codes: 0 done, 1 an ID was not found, 2 wrong use, 3 no service answers.`;

/** Adds the options with which a command finds a running service. */
export function withService(command: Command): Command {
  return command
    .option('-c, --config <file>', 'configuration file (default: svc.config.yaml, .svcrc or package.json here)')
    .option('--data-folder <folder>', 'data folder of the service (default: that of the configuration)');
}
