import { InvalidArgumentError, Option } from 'commander';
import { type CredentialKind, credentialKinds } from '../accounts/credential-kinds.ts';
import { permittedMethods } from '../http/method-names.ts';
import { loginMethod, sftpOperations } from '../ssh/sftp/request-operations.ts';
import { collect, type Register, secondsNumber, workerCount } from './arguments.ts';

const help = `
Exit codes:
  0   authenticated, or the outcome that --expect names
  1   the outcome is not the one that --expect names, or a case of the suite failed
  2   wrong use
  10  passed to the next method (401)
  11  rejected by the reply (403, or any other status)
  12  rejected, because there was no valid reply
  13  partial: the SSH service requires a second credential

With --ssh-key or --creator-type ssh, the command tries a login to an ssh service. The option required_credentials of the group then applies, too. If the group requires both, give a key and a password.

With --token, the command finds the token in the data folder of the configuration. It asks the authentication method of the token's account about the ID of the token.

A suite is a YAML list of cases: {username, password, ssh_key, certificate, token, expect, account, name}.

Examples:
  svc auth-test --username alice --password-stdin < password.txt
  svc auth-test --url http://127.0.0.1:9000/auth --username bob --password x --expect rejected
  svc auth-test --method corporate --username deploy --ssh-key ~/.ssh/id_ed25519.pub --json
  svc auth-test --username bob --ssh-key bob.pub --password-stdin < password.txt
  svc auth-test --suite cases.yaml --junit report.xml`;

/** Registers `svc auth-test`. */
export const registerAuthTest: Register = (program, run) => {
  program
    .command('auth-test')
    .description('try credentials: ask the authentication methods and print what the service would decide')
    .option('-c, --config <file>', 'configuration file (default: svc.config.yaml, .svcrc or package.json here)')
    .option('--method <uuid>', 'ask only this method of the configuration (default: all, in their order)')
    .option('--url <url>', 'ask this endpoint, without a configuration')
    .option('--header <line>', 'with --url: header "Name: value" to send; repeatable', collect, [])
    .option('--basic <user:password>', 'with --url: user name and password for HTTP Basic')
    .option('--timeout <seconds>', 'with --url: timeout for the whole exchange', secondsNumber)
    .option('--username <name>', 'account name')
    .option('--password <password>', 'password (visible in the process list; prefer --password-stdin)')
    .option('--password-stdin', 'read the password from the first line of stdin')
    .option('--ssh-key <file>', 'file of an OpenSSH public key')
    .option('--certificate <file>', 'file of a client certificate in PEM; its common name is the account name')
    .option('--token <token>', 'access token: the secret (- reads it from stdin) or the ID; with --url: the ID, together with --username')
    .option('--peer <address:port>', 'address of the client (default: 127.0.0.1:0)')
    .option('--creator-type <type>', 'type of the service that the client logs in to (default: https; with a key: ssh)')
    .addOption(
      new Option('--expect <outcome>', 'exit with 0 for this outcome, with 1 for any other').choices([
        'authenticated',
        'partial',
        'next',
        'rejected',
      ]),
    )
    .option('--show-request', 'print the request with masked secrets; with --json: as the member "request"')
    .option('--suite <file>', 'run the cases of this file')
    .option('--junit <file>', 'with --suite: write a JUnit XML report')
    .option('--json', 'print one JSON document; with --suite: one line per case')
    .addHelpText('after', help)
    .action((options) => run(async () => (await import('./auth-test.ts')).authTest(options)));
};

const validateHelp = `
One run reports every problem: of the schema, variables, references, TLS files, filters and templates of event handlers, permissions and folders. The codes of the findings are stable; docs/reference/findings.md lists them.

Exit codes: 0 valid, 1 not valid (with --strict, also if there are warnings), 2 file not found or unreadable.

Examples:
  svc validate
  svc validate svc.config.yaml --strict --online
  svc validate --sarif > svc.sarif
  envsubst < template.yaml | svc validate -`;

const testHelp = `
A case is one of
  {request: "METHOD /home/…", account, group, destination,
   inspections: [UUID…], verdicts: {UUID: accept | refuse | hold | failure | larger | late},
   expect: allowed | refused | held, status, rule, real_path}
  {request: LOGIN, account, group, service, credentials: [password, ssh-key],
   expect: allowed | refused, reason}
  {event: ID, data, account, group, component, address,
   handlers: [UUID…] or {UUID: {url, method, content_type, body}}}
  {reply: {status, body}, account,
   expect: authenticated | next | rejected, effective: {…}, reason}
A case may also have a name. It may also have golden, the path of a file with the whole outcome; --update writes that file. The file of cases is a list, or a map {config, env, cases}. svc test sends nothing and reads no served files.

Exit codes: 0 all passed, 1 a case failed or the configuration is not valid, 2 wrong use.

Examples:
  svc test
  svc test cases.yaml --junit report.xml
  svc test cases.yaml --update && git diff --exit-code`;

const explainHelp = `
PATH is the path of the URL, such as /home/inbox/a.csv; a folder ends with a slash. For SFTP requests such as OPEN-READ, it is the path that the client sends. svc explain reads only the configuration, the accounts files that the configuration names and, with --token, the token in the data folder. It does not check whether the file exists, and it assumes that the account is logged in.

LOGIN explains a login over SSH: which method decides, what the group requires (required_credentials), and what a correct key and a correct password achieve. It assumes that authentication endpoints accept the login; to ask an endpoint, use svc auth-test.

Exit codes: 0 allowed, 1 refused or the configuration is not valid, 2 wrong use.

Examples:
  svc explain --user alice PUT /home/inbox/a.csv
  svc explain --user bob --group PARTNERS GET /home/outbox/
  svc explain --user alice MOVE /home/a.csv --destination /home/done/a.csv --json
  svc explain --user alice OPEN-WRITE '/inbox/a b.csv'
  svc explain --user alice LOGIN --credentials password
  svc explain PUT /home/in/a.csv --token 4Fq2mZx1aB9c`;

const configOption = ['-c, --config <file>', 'configuration file (default: svc.config.yaml, .svcrc or package.json here)'] as const;

function kindList(text: string): CredentialKind[] {
  const kinds = text.split(',').map((kind) => kind.trim());
  const isKind = (kind: string): kind is CredentialKind => credentialKinds.includes(kind as CredentialKind);
  if (!kinds.every(isKind)) throw new InvalidArgumentError(`It must be ${credentialKinds.join(' or ')}, or both, separated by a comma.`);
  return kinds;
}

/** The requests that `svc explain` knows. */
export const explainable: readonly string[] = [...permittedMethods, ...Object.keys(sftpOperations), loginMethod];

/** Registers `svc validate`, `svc test` and `svc explain`, which examine a configuration without starting anything. */
export const registerConfig: Register = (program, run) => {
  program
    .command('validate')
    .alias('validate-config')
    .description('check a configuration without starting anything')
    .argument('[file]', 'configuration file, or - for stdin (default: svc.config.yaml, .svcrc or package.json here)')
    .option('-c, --config <file>', 'configuration file, instead of FILE')
    .option('--strict', 'also fail on warnings')
    .option('--workers <number>', 'also check what svc serve --workers needs', workerCount)
    .option('--online', 'also send test requests to authentication endpoints, inspections, ACME directories and targets of event handlers')
    .option('--json', 'print the findings as one JSON document')
    .option('--sarif', 'print the findings as a SARIF 2.1.0 log')
    .addHelpText('after', validateHelp)
    .action((file, options) => run(async () => (await import('./config/validate.ts')).validate(file, options)));
  program
    .command('test')
    .description('run unit tests of a configuration: permissions, event handlers, replies of endpoints')
    .argument('[cases]', 'file of cases, or - for stdin', 'svc.test.yaml')
    .option(configOption[0], `configuration file (default: config of the cases, otherwise svc.config.yaml, .svcrc or package.json here)`)
    .option('--update', 'rewrite the golden files')
    .option('--junit <file>', 'write a JUnit XML report')
    .option('--json', 'print one JSON document')
    .addHelpText('after', testHelp)
    .action((file, options) => run(async () => (await import('./config/config-test.ts')).configTest(file, options)));
  program
    .command('explain')
    .description('explain step by step how the configuration decides about a request or a login over SSH')
    .argument('<method>', explainable.join(', '))
    .argument('[path]', 'path of the URL: /home/…; for SFTP requests: the path that the client sends; none for LOGIN')
    .option(...configOption)
    .option('--user <name>', 'account name')
    .option('--token <token>', 'access token of the request: the secret (- reads it from stdin) or the ID')
    .option('--group <uuid>', 'group of the account, if only the authentication endpoint knows the account')
    .option('--destination <path>', 'for COPY, MOVE and renames: path of the destination')
    .option('--service <uuid>', 'for LOGIN: the ssh service (default: the first one)')
    .option(
      '--credentials <types>',
      'for LOGIN: credentials in the order in which the client presents them (default: ssh-key,password)',
      kindList,
    )
    .option('--json', 'print one JSON document')
    .addHelpText('after', explainHelp)
    .action((method, path, options) => run(async () => (await import('./config/explain.ts')).explain(method, path, options)));
};
