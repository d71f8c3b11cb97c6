import { isSea } from 'node:sea';
import { Argument, Command, CommanderError, Help, Option } from 'commander';
import type { Action, Register } from './arguments.ts';
import { registerAuthTest } from './auth/register-auth-test.ts';
import { registerConfig } from './config/register-config.ts';
import { registerControl } from './control/register-control.ts';
import { exitCode } from './exit-codes.ts';
import { foldHelp, helpWidth } from './help-text.ts';
import { registerEvents } from './journal/register-events.ts';
import { registerMock } from './mock/register-mock.ts';
import { print, reportFailure } from './output.ts';
import { registerServe } from './serve/register-serve.ts';
import { licences } from './tools/licences.ts';
import { registerTools } from './tools/register-tools.ts';

/** Options of the program itself, beside those of its commands. */
interface GlobalOptions {
  debug?: boolean;
}

const exitCodeHelp = `
Exit codes:
  0  done          1  the answer is no (invalid configuration, failed delivery)
  2  wrong use     3  could not run (port in use, data folder not writable)
  10 to 13: outcomes of auth-test      130, 143: ended by SIGINT, SIGTERM
  70  a fault of the program ended svc serve (start it again)

Environment: SVC_CONFIG (as --config), SVC_PASSWORD, SVC_LOG_LEVEL, SVC_LOG_FORMAT, SVC_DEBUG, NO_COLOR

Start here:
  svc init && svc validate && svc serve`;

/**
 * Runs the command line.
 *
 * @param args arguments without the interpreter and the script
 * @returns the exit code
 */
export async function main(args: readonly string[]): Promise<number> {
  leaveQuietlyWhenNobodyReads();
  endWithTheSignalsCode();
  let code: number = exitCode.done;
  const program = createProgram(args, async (action, globals) => {
    try {
      code = await action();
    } catch (error) {
      code = reportFailure(error, globals.debug ?? isSet(process.env.SVC_DEBUG));
    }
  });
  try {
    await program.parseAsync(args as string[], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === verboseVersion) await printVerboseVersion();
    // Help and version end with 0; everything else is wrong use.
    return error.exitCode === 0 ? exitCode.done : exitCode.usage;
  }
  return code;
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== '0';
}

// `svc schema | head -1` is no error.
function leaveQuietlyWhenNobodyReads(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(process.exitCode ?? exitCode.done);
    throw error;
  });
}

// A command that handles a signal itself adds a listener of its own, and this one leaves it alone.
function endWithTheSignalsCode(): void {
  const codes = { SIGINT: exitCode.interrupted, SIGTERM: exitCode.terminated } as const;
  for (const [signal, code] of Object.entries(codes)) {
    process.on(signal, () => {
      if (process.listenerCount(signal) === 1) process.exit(code);
    });
  }
}

/** The version; of a binary that of its Node.js as well. */
function versionText(): string {
  return isSea() ? `${SVC_VERSION} (Node.js ${process.versions.node})` : SVC_VERSION;
}

/** Code of the end of the option parser that stands for `--version --verbose`. */
const verboseVersion = 'svc.version.verbose';

/** The version, what it runs on, and the contact for weaknesses of the configuration that is found here. */
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
  print(`Report weaknesses to: ${contact}`);
}

function createProgram(args: readonly string[], run: (action: Action, globals: GlobalOptions) => Promise<void>): Command {
  const program = new Command('svc')
    .description('Serves files over HTTP and SFTP, asks a remote endpoint who may come in, and tells remote endpoints what happened.')
    .option('-V, --version', 'print the version; with --verbose also the platform and where to report weaknesses')
    .addOption(new Option('--verbose').hideHelp())
    .on('option:version', () => {
      if (args.includes('--verbose')) throw new CommanderError(exitCode.done, verboseVersion, '');
      print(versionText());
      throw new CommanderError(exitCode.done, 'svc.version', '');
    })
    .option('--licenses', 'print the licences of svc and of all that is in it')
    .on('option:licenses', () => {
      print(licences());
      throw new CommanderError(exitCode.done, 'svc.licenses', '');
    })
    .helpOption('-h, --help', 'print help')
    .option('--debug', 'print stack traces of errors (env: SVC_DEBUG)')
    .showHelpAfterError('(run with --help for usage)')
    .showSuggestionAfterError()
    .exitOverride()
    .configureHelp({
      showGlobalOptions: true,
      helpWidth: helpWidth(process.stdout),
      minWidthToWrap: 20,
      optionDescription: (option) => Help.prototype.optionDescription(option).replace(/ \(default: \[\]\)$/, ''),
      subcommandTerm: (command) => [command.name(), ...command.aliases()].join('|'),
    })
    .configureOutput({ writeOut: (text) => process.stdout.write(foldHelp(text, helpWidth(process.stdout))) })
    .addHelpText('after', exitCodeHelp);
  for (const register of registrations) register(program, (action) => run(action, program.opts<GlobalOptions>()));
  return program;
}

const schemaNames = [
  'config',
  'cases',
  'validate',
  'explain',
  'test',
  'reload',
  'auth-test',
  'auth-test-suite',
  'webhook-replay',
  'webhook-replay-dry-run',
  'webhook-replay-diff',
  'mock-auth',
  'mock-webhook',
  'events-deliveries',
  'sessions',
  'locks',
  'bans',
  'health',
];

const schemaHelp = `
Editors check and complete a configuration that begins with "# yaml-language-server: $schema=./svc.schema.json"; "svc init" writes
that line and the file.

Examples:
  svc schema > svc.schema.json
  svc schema cases > svc.test.schema.json
  svc schema validate`;

/** One entry a command; the code of a command is loaded when it runs, which keeps `svc --version` fast. */
const registrations: readonly Register[] = [
  registerServe,
  registerConfig,
  (program, run) =>
    program
      .command('init')
      .description('write a commented starter configuration')
      .argument('[file]', 'file to write, or - for stdout', 'svc.config.yaml')
      .addHelpText(
        'after',
        '\nWrites svc.schema.json beside it, with which editors check and complete the configuration.\n\nExit codes: 0 written, 2 the file exists or cannot be written.\n\nExample:\n  svc init && svc validate && svc serve',
      )
      .action((file) => run(async () => (await import('./config/init.ts')).init(file))),
  (program, run) =>
    program
      .command('hash-password')
      .description('print the hash of a password, for the accounts of the configuration')
      .addHelpText(
        'after',
        '\nAsks on a terminal; otherwise the first line of stdin is the password.\n\nExample:\n  printf %s "$PASSWORD" | svc hash-password',
      )
      .action(() => run(async () => (await import('./tools/hash-password.ts')).hashPasswordCommand())),
  (program, run) =>
    program
      .command('schema')
      .description('print the JSON Schema of the configuration, or of what a command prints with --json')
      .addArgument(new Argument('[what]', 'what the schema is of').choices(schemaNames).default('config'))
      .addHelpText('after', schemaHelp)
      .action((what) => run(async () => (await import('./config/schema.ts')).schema(what))),
  (program, run) =>
    program
      .command('openapi')
      .description('print the OpenAPI document of the REST API')
      .addOption(new Option('--format <format>', 'form of the document').choices(['yaml', 'json']).default('yaml'))
      .addHelpText('after', '\nExample:\n  svc openapi --format json > openapi.json')
      .action((options) => run(async () => (await import('./tools/openapi.ts')).openapi(options))),
  registerAuthTest,
  registerEvents,
  registerControl,
  registerMock,
  registerTools,
];
