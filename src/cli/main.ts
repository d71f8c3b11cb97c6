import { readFileSync } from 'node:fs';
import { getAsset, isSea } from 'node:sea';
import { Command, CommanderError, Help, Option } from 'commander';
import type { ConfigError } from '../config/findings.ts';
import type { Action, Register } from './arguments.ts';
import { exitCode } from './exit-codes.ts';
import { complain, print, reportFailure, visible } from './output.ts';
import { registerAuthTest, registerConfig } from './register-config.ts';
import { registerEvents } from './register-events.ts';
import { registerLinks, registerTokens } from './register-grants.ts';
import { registerControl, registerServe } from './register-service.ts';
import { registerDocuments, registerImport, registerInspect, registerMock, registerSsh, registerTools } from './register-tools.ts';

interface GlobalOptions {
  debug?: boolean;
}

const exitCodeHelp = `
Exit codes:
  0         done
  1         the answer is no: invalid configuration, failed delivery
  2         wrong use
  3         could not run: port in use, data folder not writable
  10 to 13  outcomes of auth-test
  70        a fault of the program ended svc serve: start it again
  130, 143  ended by SIGINT, SIGTERM

Environment:
  SVC_CONFIG                      as --config
  SVC_PASSWORD                    password of svc serve without a configuration
  SVC_LOG_LEVEL, SVC_LOG_FORMAT   as --log-level and --log-format
  SVC_DEBUG                       as --debug
  NO_COLOR                        no colours

Start here:
  svc init && svc validate && svc serve`;

function isConfigError(error: unknown): error is ConfigError {
  return error instanceof Error && error.name === 'ConfigError';
}

/** Runs the command line. @param args arguments without the interpreter and the script @returns the exit code */
export async function main(args: readonly string[]): Promise<number> {
  leaveQuietlyWhenNobodyReads();
  endWithTheSignalsCode();
  let code: number = exitCode.done;
  const program = createProgram(args, async (action, globals) => {
    try {
      code = await action();
    } catch (error) {
      if (isConfigError(error)) {
        // Loaded here, because `findings-output.ts` loads the schema of the configuration, which other commands do not need.
        const { complainFindings } = await import('./findings-output.ts');
        complainFindings(error.findings, error.source);
        code = exitCode.no;
      } else code = reportFailure(error, globals.debug ?? isSet(process.env.SVC_DEBUG));
    }
  });
  try {
    await program.parseAsync(args as string[], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === verboseVersion) await printVerboseVersion();
    // The parser ends help and version with code 0. Any other code means wrong use.
    return error.exitCode === 0 ? exitCode.done : exitCode.usage;
  }
  return code;
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== '0';
}

// A closed output is not an error, for example in `svc schema | head -1`.
function leaveQuietlyWhenNobodyReads(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(process.exitCode ?? exitCode.done);
    throw error;
  });
}

// A command that handles a signal itself adds its own listener. In that case, this listener does nothing.
function endWithTheSignalsCode(): void {
  const codes = { SIGINT: exitCode.interrupted, SIGTERM: exitCode.terminated } as const;
  for (const [signal, code] of Object.entries(codes)) {
    process.on(signal, () => {
      if (process.listenerCount(signal) === 1) process.exit(code);
    });
  }
}

/** Returns the version. For a binary, it includes the version of its Node.js. */
function versionText(): string {
  return isSea() ? `${SVC_VERSION} (Node.js ${process.versions.node})` : SVC_VERSION;
}

const verboseVersion = 'svc.version.verbose';

/** Prints the version, the platform, and the security contact of the configuration that is found in this folder. */
async function printVerboseVersion(): Promise<void> {
  const { findConfigFile, parseConfig } = await import('../config/reading/load.ts');
  const { readSource } = await import('../config/reading/source.ts');
  const { node, openssl } = process.versions;
  print(`svc ${SVC_VERSION}\nNode.js ${node}, OpenSSL ${openssl}, ${process.platform} ${process.arch}`);
  const file = await findConfigFile({ cwd: process.cwd(), env: process.env });
  let contact = 'not set (server.security_contact)';
  try {
    if (file !== undefined) contact = parseConfig(readSource(file), process.env).server.security_contact || contact;
  } catch {
    contact = `not known: ${file} is not valid, see svc validate`;
  }
  print(`Report vulnerabilities to: ${contact}`);
}

function createProgram(args: readonly string[], run: (action: Action, globals: GlobalOptions) => Promise<void>): Command {
  const program: Command = new Command('svc')
    .description('Serves files over HTTP and SFTP, asks a remote endpoint who may log in, and sends events to webhooks.')
    .option('-V, --version', 'print the version; with --verbose also the platform and where to report vulnerabilities')
    .addOption(new Option('--verbose').hideHelp())
    .on('option:version', () => {
      if (args.includes('--verbose')) throw new CommanderError(exitCode.done, verboseVersion, '');
      print(versionText());
      throw new CommanderError(exitCode.done, 'svc.version', '');
    })
    .option('--licenses', 'print the licences of svc and its libraries')
    .on('option:licenses', () => {
      print(licences());
      throw new CommanderError(exitCode.done, 'svc.licenses', '');
    })
    .helpOption('-h, --help', 'print help')
    .option('--debug', 'print stack traces of errors (env: SVC_DEBUG)')
    .showSuggestionAfterError()
    .exitOverride()
    .configureHelp({
      showGlobalOptions: true,
      // Commander would otherwise add the options of `svc events` to those of `svc events forward`.
      visibleGlobalOptions: (command) => (command.parent ? program.options.filter(({ hidden }) => !hidden) : []),
      helpWidth: helpWidth(process.stdout),
      minWidthToWrap: 20,
      optionDescription: (option) => Help.prototype.optionDescription(option).replace(/ \(default: \[\]\)$/, ''),
      subcommandTerm: (command) => [command.name(), ...command.aliases()].join('|'),
    })
    .configureOutput({
      writeOut: (text) => process.stdout.write(foldHelp(text, helpWidth(process.stdout))),
      outputError: (text) => complain(`svc: ${usageFault(text)} Run it with --help for usage.`),
    })
    .addHelpText('after', exitCodeHelp);
  for (const register of registrations) register(program, (action) => run(action, program.opts<GlobalOptions>()));
  return program;
}

/** Converts an error of the option parser to one sentence. The sentence begins with the option, as in other messages of svc. */
function usageFault(text: string): string {
  const fault = visible(
    text
      .replace(/^error: /, '')
      .trim()
      .replace('\n', ' '),
  )
    .replace(/^option '(?:-\w, )?(--[\w-]+)[^']*' argument '(.*)' is invalid\. It must/s, '$1 "$2" must')
    .replace(/^option '(?:-\w, )?(--[\w-]+)[^']*' argument '(.*)' is invalid\. Allowed choices are/s, '$1 "$2" must be one of')
    .replace(/^option '(?:-\w, )?(--[\w-]+) (<.*>)' argument missing$/, '$1 needs a value: $2')
    .replace(/^(unknown (?:option|command)) '(.*?)'(?: \(Did you mean (.*?)\?\))?$/, (_, what: string, name: string, near?: string) =>
      near === undefined ? `${what} "${name}"` : `${what} "${name}" (did you mean "${near}"?)`,
    );
  return /[.?]$/.test(fault) ? fault : `${fault}.`;
}

/** The registrations of the commands. The code of a command is loaded when the command runs, which keeps `svc --version` fast. */
const registrations: readonly Register[] = [
  registerServe,
  registerConfig,
  registerDocuments,
  registerImport,
  registerAuthTest,
  registerEvents,
  registerControl,
  registerTokens,
  registerLinks,
  registerMock,
  registerInspect,
  registerSsh,
  registerTools,
];

/** Width of the help text if the output is not a terminal, and maximum width that is easy to read, in characters. */
const defaultWidth = 80;
const maxWidth = 100;

function helpWidth(stream: NodeJS.WriteStream): number {
  return Math.min(stream.columns ?? defaultWidth, maxWidth);
}

/** Breaks lines of running text that are longer than `width`. Indented lines, such as examples and tables, are not changed. */
function foldHelp(text: string, width: number): string {
  return text
    .split('\n')
    .flatMap((line) => (line.length <= width || line.startsWith(' ') ? [line] : foldLine(line, width)))
    .join('\n');
}

function foldLine(line: string, width: number): string[] {
  const lines: string[] = [];
  let rest = line;
  while (rest.length > width) {
    const at = rest.lastIndexOf(' ', width);
    if (at <= 0) break;
    lines.push(rest.slice(0, at));
    rest = rest.slice(at + 1);
  }
  return [...lines, rest];
}

/** Returns the licences of svc and its dependencies. They are a comment at the end of the script, or an asset of the binary. */
function licences(): string {
  if (isSea()) return getAsset('licences', 'utf8').trimEnd();
  const script = readFileSync(process.argv[1] ?? '', 'utf8');
  return script.slice(script.lastIndexOf('\n/*\n') + 4, script.lastIndexOf('\n*/'));
}
