import { InvalidArgumentError, Option } from 'commander';
import { type CredentialKind, credentialKinds } from '../accounts/credential-kinds.ts';
import { permittedMethods } from '../http/method-names.ts';
import { loginMethod, sftpOperations } from '../ssh/sftp/request-operations.ts';
import { collect, type Register, secondsNumber, workerCount } from './arguments.ts';

const help = `
Exit codes:
  0   authenticated, or as --expect says     1   --expect not met, or a case of the suite failed
  10  passed to the next method (401)        11  rejected (403, or any other status)
  12  rejected: no reply, or an invalid one  13  partial: SSH asks for a second kind
  2   wrong use

With a key, or --creator-type ssh, the login is that of an ssh service: what the group requires (required_credentials) decides, too. Give a key and a password together where it requires both.

A suite is a YAML list of cases: {username, password, ssh_key, certificate, expect, account, name}.

Examples:
  svc auth-test --username alice --password-stdin < password.txt
  svc auth-test --url http://127.0.0.1:9000/auth --username bob --password x --expect rejected
  svc auth-test --method corporate --username deploy --ssh-key ~/.ssh/id_ed25519.pub --json
  svc auth-test --username bob --ssh-key bob.pub --password-stdin < password.txt
  svc auth-test --suite cases.yaml --junit report.xml`;

/** `svc auth-test`. */
export const registerAuthTest: Register = (program, run) => {
  program
    .command('auth-test')
    .description('ask the authentication methods about credentials and say what the service would make of the replies')
    .option('-c, --config <file>', 'configuration file (default: svc.config.yaml, .svcrc or package.json here)')
    .option('--method <uuid>', 'one method of the configuration (default: the whole chain in order)')
    .option('--url <url>', 'an endpoint, without any configuration')
    .option('--header <line>', 'with --url: header "Name: value" to send; repeatable', collect, [])
    .option('--basic <user:password>', 'with --url: HTTP Basic towards the endpoint')
    .option('--timeout <seconds>', 'with --url: longest time for the whole exchange', secondsNumber)
    .option('--username <name>', 'account name')
    .option('--password <password>', 'password (shows in the process list; prefer --password-stdin)')
    .option('--password-stdin', 'read the password from the first line of stdin')
    .option('--ssh-key <file>', 'OpenSSH public key')
    .option('--certificate <file>', 'client certificate in PEM; its common name is the account name')
    .option('--peer <address:port>', 'address of the client (default: 127.0.0.1:0)')
    .option('--creator-type <type>', 'type of the component that the client reached (default: https, ssh for a key)')
    .addOption(
      new Option('--expect <outcome>', 'exit 0 for exactly this outcome, 1 for any other').choices([
        'authenticated',
        'partial',
        'next',
        'rejected',
      ]),
    )
    .option('--show-request', 'show the request, secrets masked; with --json as the member `request`')
    .option('--suite <file>', 'run a list of cases')
    .option('--junit <file>', 'with --suite: write a JUnit XML report')
    .option('--json', 'print one JSON document; with --suite one line for each case')
    .addHelpText('after', help)
    .action((options) => run(async () => (await import('./auth-test.ts')).authTest(options)));
};

const validateHelp = `
Everything is checked in one run: the schema, variables, references, TLS files, filters and templates of event handlers, permissions and folders. The codes of the findings are stable; docs/reference/findings.md lists them.

Exit codes: 0 valid, 1 not valid (with --strict: or warnings), 2 file not found or unreadable.

Examples:
  svc validate
  svc validate svc.config.yaml --strict --online
  svc validate --sarif > svc.sarif
  envsubst < template.yaml | svc validate -`;

const testHelp = `
A case is one of
  {request: "METHOD /home/…", account, group, destination,
   expect: allowed | refused, status, rule, real_path}
  {request: LOGIN, account, group, service, credentials: [password, ssh-key],
   expect: allowed | refused, reason}
  {event: ID, data, account, group, component, address,
   handlers: [UUID…] or {UUID: {url, method, content_type, body}}}
  {reply: {status, body}, account,
   expect: authenticated | next | rejected, effective: {…}, reason}
each with an optional name and golden (a file with the whole outcome, which --update writes). A list of cases, or a map {config, env, cases}. Nothing is sent anywhere, and no file of an account is looked at.

Exit codes: 0 all passed, 1 a case failed or the configuration is not valid, 2 wrong use.

Examples:
  svc test
  svc test cases.yaml --junit report.xml
  svc test cases.yaml --update && git diff --exit-code`;

const explainHelp = `
PATH is that of the URL: /home/inbox/a.csv, with a slash at its end for folders; with requests of SFTP (OPEN-READ and so on) it is the path that the client names, as server-path gives it. The configuration alone decides; whether the file exists is not looked at, and the account counts as logged in.

LOGIN says whether the account can log in over SSH: which method decides, what the group requires (required_credentials), and what becomes of a key and a password that are right; an endpoint counts as one that accepts them. svc auth-test asks it.

Exit codes: 0 allowed, 1 refused or the configuration is not valid, 2 wrong use.

Examples:
  svc explain --user alice PUT /home/inbox/a.csv
  svc explain --user bob --group PARTNERS GET /home/outbox/
  svc explain --user alice MOVE /home/a.csv --destination /home/done/a.csv --json
  svc explain --user alice OPEN-WRITE '/inbox/a b.csv'
  svc explain --user alice LOGIN --credentials password`;

const configOption = ['-c, --config <file>', 'configuration file (default: svc.config.yaml, .svcrc or package.json here)'] as const;

/** Reads a list of kinds of credentials. */
function kindList(text: string): CredentialKind[] {
  const kinds = text.split(',').map((kind) => kind.trim());
  const isKind = (kind: string): kind is CredentialKind => credentialKinds.includes(kind as CredentialKind);
  if (!kinds.every(isKind)) throw new InvalidArgumentError(`It must be ${credentialKinds.join(', ')}, or both with a comma.`);
  return kinds;
}

/** The requests that `svc explain` knows. */
export const explainable: readonly string[] = [...permittedMethods, ...Object.keys(sftpOperations), loginMethod];

/** `svc validate`, `svc test` and `svc explain`: what can be said of a configuration without starting anything. */
export const registerConfig: Register = (program, run) => {
  program
    .command('validate')
    .alias('validate-config')
    .description('check a configuration without starting anything')
    .argument('[file]', 'configuration file, or - for stdin (default: svc.config.yaml, .svcrc or package.json here)')
    .option('-c, --config <file>', 'the same as FILE')
    .option('--strict', 'fail on warnings, too')
    .option('--workers <number>', 'also check what svc serve --workers needs', workerCount)
    .option('--online', 'also ask the authentication endpoints and the URLs of the event handlers')
    .option('--json', 'print the findings as one JSON document')
    .option('--sarif', 'print the findings as a SARIF 2.1.0 log, for code hosts')
    .addHelpText('after', validateHelp)
    .action((file, options) => run(async () => (await import('./config/validate.ts')).validate(file, options)));
  program
    .command('test')
    .description('run unit tests of a configuration: who may do what, which handlers fire, what replies mean')
    .argument('[cases]', 'file of cases, or - for stdin', 'svc.test.yaml')
    .option(configOption[0], `configuration file (default: config of the cases, else svc.config.yaml, .svcrc or package.json here)`)
    .option('--update', 'write the golden files anew')
    .option('--junit <file>', 'write a JUnit XML report')
    .option('--json', 'print one JSON document')
    .addHelpText('after', testHelp)
    .action((file, options) => run(async () => (await import('./config/config-test.ts')).configTest(file, options)));
  program
    .command('explain')
    .description('say step by step what the configuration makes of a request, or of a login over SSH')
    .argument('<method>', explainable.join(', '))
    .argument('[path]', 'path of the URL: /home/…; with requests of SFTP the path that a client names; none with LOGIN')
    .option(...configOption)
    .option('--user <name>', 'account name')
    .option('--group <uuid>', 'group of the account, when only the authentication endpoint knows it')
    .option('--destination <path>', 'for COPY, MOVE and renames: path of the destination')
    .option('--service <uuid>', 'for LOGIN: the ssh service (default: the first one)')
    .option('--credentials <types>', 'for LOGIN: what the client presents, in this order (default: ssh-key,password)', kindList)
    .option('--json', 'print one JSON document')
    .addHelpText('after', explainHelp)
    .action((method, path, options) => run(async () => (await import('./config/explain.ts')).explain(method, path, options)));
};
