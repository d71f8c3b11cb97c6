import { Option } from 'commander';
import { gathered, type Register, secondsNumber } from '../arguments.ts';

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
    .option('-c, --config <file>', 'configuration file (default: svc.config.yaml and the like in this folder)')
    .option('--method <uuid>', 'one method of the configuration (default: the whole chain in order)')
    .option('--url <url>', 'an endpoint, without any configuration')
    .option('--header <line>', 'with --url: header "Name: value" to send; repeatable', gathered, [])
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
