import { Argument, Option } from 'commander';
import { collect, portNumber, positiveNumber, type Register, secondsNumber, statusNumber } from './arguments.ts';

const authHelp = `
Prints the URL once it accepts connections, then one line for each request; secrets are masked. Ends with SIGINT or SIGTERM.

Examples:
  svc mock auth --port 9000 --accept alice:secret --accept bob:secret=bob.json --reject mallory
  svc mock auth --port 9000 --status 500
  svc mock auth --port 9000 --fault half --delay 2`;

const webhookHelp = `
Prints the URL once it accepts connections, then each request and its events. Ends with SIGINT or SIGTERM.

Examples:
  svc mock webhook --port 9000 --record events.ndjson
  svc mock webhook --fail-first 2
  svc mock webhook --retry-after 60
  svc mock webhook --header 'X-Receipt: 42' --body '<Status>OK</Status>'`;

const mockHelp = `
Examples:
  svc mock auth --accept alice:secret
  svc mock webhook --port 9001 --record events.ndjson`;

/** `svc mock`: endpoints for people's CI. */
export const registerMock: Register = (program, run) => {
  const mock = program.command('mock').description('scriptable endpoints for CI').addHelpText('after', mockHelp);
  mock
    .command('auth')
    .description('an authentication endpoint')
    .option('--port <port>', 'port to listen on, 0 = any free one', portNumber, 9000)
    .option('--accept <user:password[=account.json]>', 'accept with 204, or with 200 and the account of a file; repeatable', collect, [])
    .option('--reject <user>', 'reject with 403; repeatable', collect, [])
    .addOption(
      new Option('--default <answer>', 'answer for everybody else: next (401) or reject (403)').choices(['next', 'reject']).default('next'),
    )
    .option('--delay <seconds>', 'wait before each answer', secondsNumber, 0)
    .option('--status <code>', 'answer everything with this status', statusNumber)
    .option('--body <text>', 'with --status: body of the answer')
    .addOption(
      new Option('--fault <kind>', 'answer with something that is no reply').choices(['drop', 'garbage', 'half', 'hang', 'redirect']),
    )
    .option('--json', 'print one JSON object a line')
    .addHelpText('after', authHelp)
    .action((options) => run(async () => (await import('./mock-servers.ts')).mockAuth(options)));
  mock
    .command('webhook')
    .description('a webhook receiver')
    .option('--port <port>', 'port to listen on, 0 = any free one', portNumber, 9000)
    .option('--status <code>', 'answer with this status (default: 200)', statusNumber)
    .option('--fail-first <number>', 'fail this number of requests, then succeed; with --status: fail with it', positiveNumber)
    .option('--retry-after <seconds>', 'failures carry Retry-After and are 503 without --status', secondsNumber)
    .option('--body <text>', 'body of the answers')
    .option('--header <line>', 'header "Name: value" of the answers; repeatable', collect, [])
    .option('--delay <seconds>', 'wait before each answer', secondsNumber, 0)
    .option('--secret <secret>', 'answer 401 unless the signature is right (Standard Webhooks)')
    .option('--record <file>', 'append each event to a file that "svc webhook-replay" takes')
    .option('--json', 'print one JSON object a line')
    .addHelpText('after', webhookHelp)
    .action((options) => run(async () => (await import('./mock-servers.ts')).mockWebhook(options)));
};

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

/** `svc init`, `svc hash-password`, `svc schema` and `svc openapi`: what is written or printed once. */
export const registerDocuments: Register = (program, run) => {
  program
    .command('init')
    .description('write a commented starter configuration')
    .argument('[file]', 'file to write, or - for stdout', 'svc.config.yaml')
    .addHelpText(
      'after',
      '\nWrites svc.schema.json beside it, with which editors check and complete the configuration.\n\nExit codes: 0 written, 2 the file exists or cannot be written.\n\nExample:\n  svc init && svc validate && svc serve',
    )
    .action((file) => run(async () => (await import('./config/init.ts')).init(file)));
  program
    .command('hash-password')
    .description('print the hash of a password, for the accounts of the configuration')
    .addHelpText(
      'after',
      '\nAsks on a terminal; otherwise the first line of stdin is the password.\n\nExample:\n  printf %s "$PASSWORD" | svc hash-password',
    )
    .action(() => run(async () => (await import('./tools/hash-password.ts')).hashPasswordCommand()));
  program
    .command('schema')
    .description('print the JSON Schema of the configuration, or of what a command prints with --json')
    .addArgument(new Argument('[what]', 'what the schema is of').choices(schemaNames).default('config'))
    .addHelpText('after', schemaHelp)
    .action((what) => run(async () => (await import('./config/schema.ts')).schema(what)));
  program
    .command('openapi')
    .description('print the OpenAPI document of the REST API')
    .addOption(new Option('--format <format>', 'form of the document').choices(['yaml', 'json']).default('yaml'))
    .addHelpText('after', '\nExample:\n  svc openapi --format json > openapi.json')
    .action((options) => run(async () => (await import('./tools/openapi.ts')).openapi(options)));
};

const completionHelp = `
Commands, options, UUIDs of the configuration, accounts, event IDs and outcomes are completed.

Examples:
  eval "$(svc completion bash)"
  svc completion zsh > "\${fpath[1]}/_svc"
  svc completion fish > ~/.config/fish/completions/svc.fish`;

const manHelp = `
Examples:
  svc man | man -l -
  svc man > /usr/local/share/man/man1/svc.1`;

/** `svc completion` and `svc man`, which are made of the other commands. */
export const registerTools: Register = (program, run) => {
  program
    .command('completion')
    .description('print the completion script of a shell')
    .addArgument(new Argument('<shell>', 'name of the shell').choices(['bash', 'zsh', 'fish']))
    .addHelpText('after', completionHelp)
    .action((shell) => run(async () => (await import('./tools/completion.ts')).completion(shell)));
  program
    .command('man')
    .description('print the manual page')
    .addHelpText('after', manHelp)
    .action(() => run(async () => (await import('./tools/man.ts')).man(program)));
  program
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .action((words) => run(async () => (await import('./tools/completion.ts')).complete(program, words)));
};
