import { InvalidArgumentError } from 'commander';
import { type CredentialKind, credentialKinds } from '../../accounts/credential-kinds.ts';
import { permittedMethods } from '../../http/method-names.ts';
import { loginMethod, sftpOperations } from '../../ssh/sftp/request-operations.ts';
import { type Register, workerCount } from '../arguments.ts';

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

const configOption = ['-c, --config <file>', 'configuration file (default: svc.config.yaml and the like in this folder)'] as const;

/** Reads a list of kinds of credentials. */
function kindList(text: string): CredentialKind[] {
  const kinds = text.split(',').map((kind) => kind.trim());
  const isKind = (kind: string): kind is CredentialKind => credentialKinds.includes(kind as CredentialKind);
  if (!kinds.every(isKind)) throw new InvalidArgumentError(`It must be ${credentialKinds.join(', ')}, or both with a comma.`);
  return kinds;
}

/** What `svc explain` knows. */
export const explainable: readonly string[] = [...permittedMethods, ...Object.keys(sftpOperations), loginMethod];

/** `svc validate`, `svc test` and `svc explain`: what can be said of a configuration without starting anything. */
export const registerConfig: Register = (program, run) => {
  program
    .command('validate')
    .alias('validate-config')
    .description('check a configuration without starting anything')
    .argument('[file]', 'configuration file, or - for stdin (default: svc.config.yaml and the like in this folder)')
    .option('-c, --config <file>', 'the same as FILE')
    .option('--strict', 'let warnings fail, too')
    .option('--workers <number>', 'also check what svc serve --workers needs', workerCount)
    .option('--online', 'also ask the authentication endpoints and the URLs of the event handlers')
    .option('--json', 'print the findings as one JSON document')
    .option('--sarif', 'print the findings as a SARIF 2.1.0 log, for code hosts')
    .addHelpText('after', validateHelp)
    .action((file, options) => run(async () => (await import('./validate.ts')).validate(file, options)));
  program
    .command('test')
    .description('run unit tests of a configuration: who may do what, which handlers fire, what replies mean')
    .argument('[cases]', 'file of cases, or - for stdin', 'svc.test.yaml')
    .option(configOption[0], `configuration file (default: config of the cases, else svc.config.yaml and the like in this folder)`)
    .option('--update', 'write the golden files anew')
    .option('--junit <file>', 'write a JUnit XML report')
    .option('--json', 'print one JSON document')
    .addHelpText('after', testHelp)
    .action((file, options) => run(async () => (await import('./config-test.ts')).configTest(file, options)));
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
    .action((method, path, options) => run(async () => (await import('./explain.ts')).explain(method, path, options)));
};
