import { type Command, Option } from 'commander';
import type { ControlledName } from '../control/collection.ts';
import { logLevels } from '../lib/log.ts';
import { portNumber, type Register, secondsNumber, workerCount } from './arguments.ts';

/** A kind of things, in words. */
interface Kind {
  name: ControlledName;
  description: string;
  accounts: boolean;
  help: string;
}

const kinds: readonly Kind[] = [
  {
    name: 'sessions',
    description: 'sessions of a running service',
    accounts: true,
    help: 'A session that is removed is over at once, for all workers and nodes; transfers that run go on. IDs are made for this list alone: nobody can sign in with them. The address is that of the login.',
  },
  {
    name: 'locks',
    description: 'WebDAV locks of a running service',
    accounts: true,
    help: 'Paths are real ones, as all accounts that see a file share its locks. Who had a lock that is removed finds out at the next write.',
  },
  {
    name: 'bans',
    description: 'bans of addresses and limits of account names of a running service',
    accounts: true,
    help: 'Bans are of IPv4 addresses, and of the /64 of IPv6 addresses: --address finds it by any address in it. An account name that was guessed at ten times within a minute, from all addresses together, is refused for the rest of that minute to addresses that it was never accepted from: `name:alice`, found by --account in any spelling (`administrator/NAME` for one of the console); spellings that differ in case, blanks or accents share one limit. With a ban the failures that led to it are forgotten.',
  },
];

const commonHelp = `The service is asked by the socket control.sock in its data folder, which only its own account and root may open. With server.state redis any node answers for all.

Exit codes: 0 done, 1 something named is not there, 2 wrong use, 3 no service answers.`;

const healthHelp = `
Without --url the first service of type monitor in the configuration is asked. A URL without a path gets /ready.

Exit codes: 0 ready, 1 not ready (the reasons are printed), 2 wrong use, 3 no answer.

Examples:
  svc health
  svc health --url http://127.0.0.1:9100 --timeout 2`;

/** `svc sessions`, `svc locks`, `svc bans` and `svc health`: questions to a running service. */
export const registerControl: Register = (program, run) => {
  for (const kind of kinds) {
    const { name, description, accounts, help } = kind;
    const group = program
      .command(name)
      .description(description)
      .addHelpText('after', `\nExamples:\n  svc ${name} list\n  svc ${name} remove --all`);
    const listing = withFilters(group.command('list').description(`print the ${description}`), accounts)
      .option('--json', 'print one JSON object a line')
      .addHelpText('after', `\n${help}\n\n${commonHelp}\n\nExamples:\n${examples(name, 'list', accounts)}`);
    listing.action((options) => run(async () => (await import('./control/control.ts')).list(name, options)));
    const removal = withFilters(
      group.command('remove').description(`remove ${description}`).argument('[id...]', 'IDs, as listed'),
      accounts,
    )
      .option('--all', `remove all ${name}`)
      .option('--json', 'print one JSON object for each that was removed')
      .addHelpText('after', `\n${help}\n\n${commonHelp}\n\nExamples:\n${examples(name, 'remove', accounts)}`);
    removal.action((ids, options) => run(async () => (await import('./control/control.ts')).remove(name, ids, options)));
  }
  program
    .command('health')
    .description('ask a running service whether it is ready')
    .option('-c, --config <file>', 'configuration file (default: svc.config.yaml, .svcrc or package.json here)')
    .option('--url <url>', 'monitor of the service (default: that of the configuration)')
    .option('--timeout <seconds>', 'longest wait for an answer', secondsNumber, 5)
    .option('--json', 'print one JSON document')
    .addHelpText('after', healthHelp)
    .action((options) => run(async () => (await import('./control/health.ts')).health(options)));
};

function withFilters(command: Command, accounts: boolean): Command {
  command
    .option('-c, --config <file>', 'configuration file (default: svc.config.yaml, .svcrc or package.json here)')
    .option('--data-folder <folder>', 'data folder of the service (default: that of the configuration)');
  if (accounts) command.option('--account <name>', 'only those of this account');
  return command.option('--address <address>', 'only those of this address or CIDR range');
}

function examples(name: ControlledName, verb: string, accounts: boolean): string {
  const lines = [
    ...(verb === 'list' ? [`  svc ${name} list`] : []),
    ...(accounts ? [`  svc ${name} ${verb} --account alice`] : []),
    `  svc ${name} ${verb} --address 203.0.113.0/24`,
  ];
  return lines.join('\n');
}

const serveHelp = `
Without a configuration file one http service on 127.0.0.1:8080 serves --root (default ./files) to one account.

With --workers 2 and more this process starts that number of nodes of the configuration on the same addresses, which share Redis (server.state), and looks after them; 1 is one process for everything.

Signals: SIGTERM and SIGINT stop after running transfers (a second one at once), SIGHUP reloads the configuration.

Exit codes: 0 drained and stopped, 1 configuration not valid, 2 wrong use, 3 could not run (port in use, data folder not writable, no node can be started), 70 a fault of the program ended it, with the journal flushed (see the log, and have it started again), 130 and 143 a signal ended it before all transfers were done.

Examples:
  svc serve
  svc serve --root /srv/files --port 9000 --user alice:secret-words
  svc serve --config /etc/svc/svc.config.yaml --log-format json
  svc serve --workers auto`;

const reloadHelp = `
The service reads its configuration again, all or nothing: sessions, transfers and positions of handlers survive, and with an error in it the old configuration stays. Those end whose account is gone or disabled, or has another password or key; others have the rights and limits of the new configuration at their next request. Listeners are opened anew only when their address changes. Renewed TLS files need no reload. The service is found through its data folder.

Exit codes: 0 reloaded, 1 refused (the findings are printed), 2 wrong use, 3 no service runs, or it did not answer.

Examples:
  svc reload
  svc validate --strict && svc reload
  svc reload --data-folder /var/lib/svc --json`;

/** `svc serve` and `svc reload`. */
export const registerServe: Register = (program, run) => {
  program
    .command('serve')
    .description('start the services, authentication methods and event handlers of the configuration')
    .option('-c, --config <file>', 'configuration file (default: svc.config.yaml, .svcrc or package.json here)')
    .option('--root <folder>', 'without a configuration: the folder to serve', undefined)
    .option('--user <name:password>', 'without a configuration: the account (default: admin with a random password, or SVC_PASSWORD)')
    .option('--address <address>', 'without a configuration: address to listen on (default: 127.0.0.1)')
    .option('--port <port>', 'without a configuration: port to listen on (default: 8080)', portNumber)
    .option('--ssh [port]', 'without a configuration: serve SFTP, too (default port: 2222)', portNumber)
    .option('--console [port]', 'without a configuration: the console on 127.0.0.1, with a login link (default port: 9101)', portNumber)
    .option('--workers <number>', 'nodes that answer requests, with server.state redis; auto = one a core (default: 1)', workerCount)
    .addOption(new Option('--log-level <level>', 'least important messages to log').choices(logLevels).env('SVC_LOG_LEVEL'))
    .addOption(new Option('--log-format <format>', 'form of a log line').choices(['pretty', 'json']).env('SVC_LOG_FORMAT'))
    .addHelpText('after', serveHelp)
    .action((options) => run(async () => (await import('./serve/serve.ts')).serve(options)));
  program.command('__node', { hidden: true }).action(() => run(async () => (await import('./serve/node.ts')).node()));
  program
    .command('reload')
    .description('make the running service read its configuration again')
    .option('-c, --config <file>', 'configuration file (default: svc.config.yaml, .svcrc or package.json here)')
    .option('--data-folder <folder>', 'data folder of the service (default: that of the configuration)')
    .option('--timeout <seconds>', 'longest wait for the service to answer', secondsNumber, 60)
    .option('--json', 'print one JSON document')
    .addHelpText('after', reloadHelp)
    .action((options) => run(async () => (await import('./serve/reload.ts')).reload(options)));
};
