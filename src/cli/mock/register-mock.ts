import { Option } from 'commander';
import { gathered, portNumber, positiveNumber, type Register, secondsNumber, statusNumber } from '../arguments.ts';

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
    .option('--accept <user:password[=account.json]>', 'accept with 204, or with 200 and the account of a file; repeatable', gathered, [])
    .option('--reject <user>', 'reject with 403; repeatable', gathered, [])
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
    .action((options) => run(async () => (await import('./mock-auth.ts')).mockAuth(options)));
  mock
    .command('webhook')
    .description('a webhook receiver')
    .option('--port <port>', 'port to listen on, 0 = any free one', portNumber, 9000)
    .option('--status <code>', 'answer with this status (default: 200)', statusNumber)
    .option('--fail-first <number>', 'fail so many requests, then succeed; with --status: fail with it', positiveNumber)
    .option('--retry-after <seconds>', 'failures carry Retry-After and are 503 without --status', secondsNumber)
    .option('--body <text>', 'body of the answers')
    .option('--header <line>', 'header "Name: value" of the answers; repeatable', gathered, [])
    .option('--delay <seconds>', 'wait before each answer', secondsNumber, 0)
    .option('--secret <secret>', 'answer 401 unless the signature is right (Standard Webhooks)')
    .option('--record <file>', 'append each event to a file that "svc webhook-replay" takes')
    .option('--json', 'print one JSON object a line')
    .addHelpText('after', webhookHelp)
    .action((options) => run(async () => (await import('./mock-webhook.ts')).mockWebhook(options)));
};
