import { Argument, Option } from 'commander';
import { collect, portNumber, positiveNumber, type Register, secondsNumber, statusNumber } from './arguments.ts';

const authHelp = `
Prints the URL when it accepts connections, then one line for each request; secrets are masked. Ends with SIGINT or SIGTERM.

Examples:
  svc mock auth --port 9000 --accept alice:secret --accept bob:secret=bob.json --reject mallory
  svc mock auth --port 9000 --status 500
  svc mock auth --port 9000 --fault half --delay 2`;

const webhookHelp = `
Prints the URL when it accepts connections, then each request and its events. Ends with SIGINT or SIGTERM.

Examples:
  svc mock webhook --port 9000 --record events.ndjson
  svc mock webhook --fail-first 2
  svc mock webhook --retry-after 60
  svc mock webhook --header 'X-Receipt: 42' --body '<Status>OK</Status>'`;

const inspectionHelp = `
Examples:
  svc mock inspection --port 9000
  svc mock inspection --reply 422 --body '{"message": "Not this one."}'
  svc mock inspection --reply 202 --delay 2 --record requests.ndjson`;

const mockHelp = `
Examples:
  svc mock auth --accept alice:secret
  svc mock webhook --port 9001 --record events.ndjson`;

/** Registers `svc mock`, which runs endpoints for tests in CI. */
export const registerMock: Register = (program, run) => {
  const mock = program.command('mock').description('run scriptable endpoints for tests').addHelpText('after', mockHelp);
  mock
    .command('auth')
    .description('run an authentication endpoint for tests')
    .option('--port <port>', 'port to listen on, 0 = any free one', portNumber, 9000)
    .option('--accept <user:password[=account.json]>', 'accept with 204, or with 200 and the account in the file; repeatable', collect, [])
    .option('--reject <user>', 'reject with 403; repeatable', collect, [])
    .addOption(
      new Option('--default <answer>', 'answer for all other users: next (401) or reject (403)')
        .choices(['next', 'reject'])
        .default('next'),
    )
    .option('--delay <seconds>', 'wait before each answer', secondsNumber, 0)
    .option('--status <code>', 'answer everything with this status', statusNumber)
    .option('--body <text>', 'with --status: body of the answer')
    .addOption(new Option('--fault <kind>', 'break the reply in this way').choices(['drop', 'garbage', 'half', 'hang', 'redirect']))
    .option('--json', 'print one JSON object per line')
    .addHelpText('after', authHelp)
    .action((options) => run(async () => (await import('./mock-servers.ts')).mockAuth(options)));
  mock
    .command('webhook')
    .description('run a webhook receiver for tests')
    .option('--port <port>', 'port to listen on, 0 = any free one', portNumber, 9000)
    .option('--status <code>', 'answer with this status (default: 200)', statusNumber)
    .option(
      '--fail-first <number>',
      'number of requests that fail before one succeeds; with --status: fail with that status',
      positiveNumber,
    )
    .option('--retry-after <seconds>', 'send Retry-After with failures; their status is 503 unless --status is given', secondsNumber)
    .option('--body <text>', 'body of the answers')
    .option('--header <line>', 'header "Name: value" of the answers; repeatable', collect, [])
    .option('--delay <seconds>', 'wait before each answer', secondsNumber, 0)
    .option('--secret <secret>', 'answer 401 unless the signature (Standard Webhooks) is made with this secret')
    .option('--record <file>', 'append each event to this file, for "svc webhook-replay"')
    .option('--json', 'print one JSON object per line')
    .addHelpText('after', webhookHelp)
    .action((options) => run(async () => (await import('./mock-servers.ts')).mockWebhook(options)));
  mock
    .command('inspection')
    .description('run the endpoint of an inspection for tests')
    .option('--port <port>', 'port to listen on, 0 = any free one', portNumber, 9000)
    .option('--reply <status>', 'answer with this status', statusNumber, 204)
    .option('--delay <seconds>', 'wait before each answer', secondsNumber, 0)
    .option('--body <json>', 'body of the answers')
    .option('--record <file>', 'append a line of JSON for each request to this file')
    .option('--json', 'print one JSON object per line')
    .addHelpText('after', inspectionHelp)
    .action((options) => run(async () => (await import('./mock-servers.ts')).mockInspection(options)));
};

const inspectHelp = `
The command asks the inspections that apply to the path, as an upload would: it sends the file to their endpoints, or to clamd. If their verdicts differ, a refusal takes precedence over a hold, and a hold over an acceptance.

Exit codes: 0 accepted, 2 wrong use, 3 refused, 4 held, 11 an inspection failed.

Examples:
  svc inspect orders.csv --account alice --path /in/orders.csv
  svc inspect orders.csv --account alice --path /in/orders.csv --json`;

/** Registers `svc inspect`, which asks the inspections of a configuration about a local file. */
export const registerInspect: Register = (program, run) => {
  program
    .command('inspect')
    .description('ask the inspections of the configuration about a local file')
    .argument('<file>', 'the file')
    .requiredOption('--account <name>', 'account that would upload the file; must be in the configuration')
    .requiredOption('--path <path>', 'virtual path that the file would get')
    .option('-c, --config <file>', 'configuration file (default: svc.config.yaml, .svcrc or package.json here)')
    .option('--json', 'print one JSON document')
    .addHelpText('after', inspectHelp)
    .action((file, options) => run(async () => (await import('./tools/inspect.ts')).inspectFile(file, options)));
};

/** The servers whose files `svc import` reads. */
const importable = ['openssh', 'htpasswd', 'vsftpd', 'proftpd', 'sftpgo', 'csv'];

const schemaNames = [
  'config',
  'cases',
  'validate',
  'explain',
  'test',
  'import',
  'ssh-host-key-import',
  'reload',
  'auth-test',
  'auth-test-suite',
  'webhook-replay',
  'webhook-replay-dry-run',
  'webhook-replay-diff',
  'mock-auth',
  'mock-webhook',
  'events-deliveries',
  'journal-verify',
  'receipt',
  'journal-export',
  'expectations-list',
  'expectations',
  'sessions',
  'locks',
  'bans',
  'trash',
  'tokens',
  'links',
  'health',
];

const schemaHelp = `
Editors use the schema to check and complete a configuration that begins with the line "# yaml-language-server: $schema=./svc.schema.json". "svc init" writes the line and the schema.

Examples:
  svc schema > svc.schema.json
  svc schema cases > svc.test.schema.json
  svc schema validate`;

/** Registers `svc init`, `svc hash-password`, `svc schema` and `svc openapi`, which write or print something once. */
export const registerDocuments: Register = (program, run) => {
  program
    .command('init')
    .description('write a commented starter configuration')
    .argument('[file]', 'file to write, or - for stdout', 'svc.config.yaml')
    .addHelpText(
      'after',
      '\nAlso writes svc.schema.json to the same folder. Editors use that schema to check and complete the configuration.\n\nExit codes: 0 written, 2 the file exists or cannot be written.\n\nExample:\n  svc init && svc validate && svc serve',
    )
    .action((file) => run(async () => (await import('./tools/documents.ts')).init(file)));
  program
    .command('hash-password')
    .description('print the hash of a password, for the accounts of the configuration')
    .addHelpText(
      'after',
      '\nOn a terminal it asks for the password; otherwise it reads the first line of stdin.\n\nExample:\n  printf %s "$PASSWORD" | svc hash-password',
    )
    .action(() => run(async () => (await import('./tools/documents.ts')).hashPasswordCommand()));
  program
    .command('schema')
    .description('print the JSON Schema of the configuration, or of what a command prints with --json')
    .addArgument(new Argument('[what]', 'document that the schema describes').choices(schemaNames).default('config'))
    .addHelpText('after', schemaHelp)
    .action((what) => run(async () => (await import('./config/schema.ts')).schema(what)));
  program
    .command('openapi')
    .description('print the OpenAPI document of the REST API')
    .addOption(new Option('--format <format>', 'format of the document').choices(['yaml', 'json']).default('yaml'))
    .addHelpText('after', '\nExample:\n  svc openapi --format json > openapi.json')
    .action((options) => run(async () => (await import('./tools/documents.ts')).openapi(options)));
};

const importHelp = `
FROM is one of
  openssh   sshd_config, passwd, shadow and group; keys as ALICE=FILE, as
            .../alice/.ssh/authorized_keys, or found below --root
  htpasswd  files of htpasswd
  vsftpd    vsftpd.conf, passwd and shadow; lists of users below --root
  proftpd   proftpd.conf, AuthUserFile or passwd, and group
  sftpgo    a dump (dumpdata) in JSON
  csv       tables; the first line names the columns: name, password or
            password_hash, home, ssh_keys, email, group, permissions,
            enabled, quota_size

The command writes three files with mode 0600, and replaces no existing file: the configuration, NAME.test.yaml with cases for svc test, and NAME.import.txt. NAME.import.txt lists each difference from the old server, the place where it was configured, and what to do about it. If there are more than 1,000 accounts, they are written to NAME.accounts.json, to which the configuration refers. Nothing becomes less strict: an account with restrictions that svc does not support is disabled.

--check writes nothing. It prints the list of differences. It also examines the files of the accounts below --root, and reports unusual owners and modes, names that are not UTF-8 or that differ only by case, and links that leave the folder.

Exit codes: 0 done, 1 --check found something, 2 wrong use, or a file that cannot be read or would be replaced.

Examples:
  svc import openssh /etc/ssh/sshd_config /etc/passwd /etc/shadow --port 2222
  svc import openssh copy/etc/ssh/sshd_config copy/etc/passwd --root copy --check
  svc import sftpgo dump.json --out files.config.yaml
  svc import htpasswd /etc/nginx/htpasswd --home '/srv/files/\${USER}'`;

/** Registers `svc import`, which creates a configuration from that of another server. */
export const registerImport: Register = (program, run) => {
  program
    .command('import')
    .description('create a configuration from the files of another server')
    .addArgument(new Argument('<from>', 'the other server').choices(importable))
    .argument('<files...>', 'files of the other server')
    .option('--out <file>', 'configuration to write', 'svc.config.yaml')
    .option('--root <folder>', 'folder with a copy of the files of the other machine', '/')
    .option('--home <folder>', 'home folder for accounts that have none on the other server', './files/${USER}')
    .option('--port <port>', 'port of the service (default: that of the other server, or 2222)', portNumber)
    .option('--check', 'write nothing: print the differences, and problems with the files of the accounts')
    .option('--json', 'print one JSON object for each difference')
    .addHelpText('after', importHelp)
    .action((from, files, options) => run(async () => (await import('./import/import.ts')).importFrom(from, files, options)));
};

const hostKeyHelp = `
Clients recognise a server by its host key, so they do not notice the new server if it has the old keys. The command copies the keys to the data folder with mode 0600, under the names that services without host_key_paths use. It replaces no existing key. Services without host_key_paths use only Ed25519 and RSA keys. For a key of another type, such as ECDSA, the command says what to add to host_key_paths. A service reads the keys when it starts.

Exit codes: 0 imported (or already there), 2 wrong use, or the data folder has another key of the same type, 3 a key cannot be read or used.

Examples:
  svc ssh host-key import /etc/ssh/ssh_host_ed25519_key /etc/ssh/ssh_host_rsa_key
  svc ssh host-key import key --data-folder /var/lib/svc`;

/** Registers `svc ssh host-key import`. */
export const registerSsh: Register = (program, run) => {
  const example = '\nExample:\n  svc ssh host-key import /etc/ssh/ssh_host_ed25519_key';
  const ssh = program.command('ssh').description('host keys of ssh services').addHelpText('after', example);
  const keys = ssh.command('host-key').description('host keys, by which clients recognise the server').addHelpText('after', example);
  keys
    .command('import')
    .description('take over the host keys of another server')
    .argument('<files...>', 'private keys without a passphrase')
    .option('-c, --config <file>', 'configuration file (default: svc.config.yaml, .svcrc or package.json here)')
    .option('--data-folder <folder>', 'data folder of the service (default: that of the configuration)')
    .option('--json', 'print one JSON object for each key')
    .addHelpText('after', hostKeyHelp)
    .action((files, options) => run(async () => (await import('./tools/host-keys.ts')).importHostKeys(files, options)));
};

const completionHelp = `
Completes commands, options, accounts, event IDs, outcomes and the UUIDs of the configuration.

Examples:
  eval "$(svc completion bash)"
  svc completion zsh > "\${fpath[1]}/_svc"
  svc completion fish > ~/.config/fish/completions/svc.fish`;

const manHelp = `
Examples:
  svc man | man -l -
  svc man > /usr/local/share/man/man1/svc.1`;

/** Registers `svc completion` and `svc man`, whose output is generated from the other commands. */
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
