import { type Command, Option } from 'commander';
import type { ControlledName } from '../control/collection.ts';
import { logLevels } from '../lib/log.ts';
import { portNumber, type Register, secondsNumber, serviceHelp, withService, workerCount } from './arguments.ts';

/** The command and help texts of one kind of items in a running service. */
interface Kind {
  name: Exclude<ControlledName, 'trash'>;
  description: string;
  accounts: boolean;
  help: string;
}

const kinds: readonly Kind[] = [
  {
    name: 'sessions',
    description: 'sessions of a running service',
    accounts: true,
    help: 'A session that is removed ends immediately on all nodes, and an SFTP connection within seconds, but running HTTP transfers continue. The IDs are only for this command: nobody can sign in with them. The address is that of the client at the login.',
  },
  {
    name: 'locks',
    description: 'WebDAV locks of a running service',
    accounts: true,
    help: 'Paths are real paths, because all accounts that see a file share its locks. The owner of a removed lock notices at the next write.',
  },
  {
    name: 'bans',
    description: 'bans of addresses and of account names in a running service',
    accounts: true,
    help: 'A ban of an address refuses logins from an IPv4 address, or from the /64 network of an IPv6 address; --address finds the ban by any address in the network. A ban of a name follows ten wrong guesses for an account name within a minute, from all addresses together. It refuses the name for the rest of the minute, except from addresses from which the name has logged in before. Its ID has the form name:alice. --account finds the ban by any spelling of the name, because spellings that differ only in case, blanks or accents share one ban. For an administrator of the console, give --account administrator/NAME. Removing a ban also forgets the failures that led to it.',
  },
];

const healthHelp = `
Without --url, the command asks the first service of type monitor in the configuration. If the URL has no path, /ready is added.

Exit codes: 0 ready, 1 not ready (the reasons are printed), 2 wrong use, 3 no answer.

Examples:
  svc health
  svc health --url http://127.0.0.1:9100 --timeout 2`;

const trashHelp = `The trash contains what accounts with the option \`trash\` deleted or replaced. An item is restored to its former path, and missing folders are created. This fails if another item now has that path. The commands reach only trashes into which this service (with --workers, any of its nodes) has moved something.

${serviceHelp.replace('1 an ID was not found', '1 an ID was not found, or the item cannot be restored')}`;

/** Registers `svc trash`, which handles files that accounts deleted. */
function registerTrash(program: Command, run: Parameters<Register>[1]): void {
  const group = program
    .command('trash')
    .description('items that accounts of a running service deleted or replaced')
    .addHelpText('after', '\nExamples:\n  svc trash list --account alice\n  svc trash restore 4f2a9c01d3b5e6f78091a2b3c4d5e6f7');
  const options = (command: Command) => withService(command).option('--account <name>', 'only the trash of this account');
  options(group.command('list').description('print the trash, newest first'))
    .option('--json', 'print one JSON object per line')
    .addHelpText('after', `\n${trashHelp}\n\nExamples:\n  svc trash list\n  svc trash list --account alice --json`)
    .action((given) => run(async () => (await import('./control/control.ts')).list('trash', given)));
  options(group.command('restore').description('restore from the trash').argument('<id...>', 'IDs, as listed'))
    .option('--json', 'print one JSON object for each restored item')
    .addHelpText('after', `\n${trashHelp}\n\nExamples:\n  svc trash restore 4f2a9c01d3b5e6f78091a2b3c4d5e6f7`)
    .action((ids, given) => run(async () => (await import('./control/control.ts')).restoreTrash(ids, given)));
  options(group.command('empty').description('permanently delete everything in the trash'))
    .option('--json', 'print one JSON object for each deleted item')
    .addHelpText('after', `\n${trashHelp}\n\nExamples:\n  svc trash empty --account alice`)
    .action((given) => run(async () => (await import('./control/control.ts')).emptyTrash(given)));
}

/** Registers the commands that ask a running service: `svc sessions`, `locks`, `bans`, `trash`, `held` and `health`. */
export const registerControl: Register = (program, run) => {
  for (const kind of kinds) {
    const { name, description, accounts, help } = kind;
    const group = program
      .command(name)
      .description(description)
      .addHelpText('after', `\nExamples:\n  svc ${name} list\n  svc ${name} remove --all`);
    const listing = withFilters(group.command('list').description(`print the ${description}`), accounts)
      .option('--json', 'print one JSON object per line')
      .addHelpText('after', `\n${help}\n\n${serviceHelp}\n\nExamples:\n${examples(name, 'list', accounts)}`);
    listing.action((options) => run(async () => (await import('./control/control.ts')).list(name, options)));
    const removal = withFilters(
      group.command('remove').description(`remove ${description}`).argument('[id...]', 'IDs, as listed'),
      accounts,
    )
      .option('--all', `remove all ${name}`)
      .option('--json', 'print one JSON object per removed entry')
      .addHelpText('after', `\n${help}\n\n${serviceHelp}\n\nExamples:\n${examples(name, 'remove', accounts)}`);
    removal.action((ids, options) => run(async () => (await import('./control/control.ts')).remove(name, ids, options)));
  }
  registerTrash(program, run);
  registerHeld(program, run);
  program
    .command('health')
    .description('ask a running service whether it is ready')
    .option('-c, --config <file>', 'configuration file (default: svc.config.yaml, .svcrc or package.json here)')
    .option('--url <url>', 'URL of the monitor (default: the monitor of the configuration)')
    .option('--timeout <seconds>', 'how long to wait for the answer', secondsNumber, 5)
    .option('--json', 'print one JSON document')
    .addHelpText('after', healthHelp)
    .action((options) => run(async () => (await import('./control/health.ts')).health(options)));
};

const heldHelp = `An upload is held if an inspection says so, fails or is late, or if the file is too large for the inspection. Nobody sees the upload until it is released. A release checks rights, locks and quota again, and replaces an existing file with the same name.

${serviceHelp}`;

const heldVerbs = [
  ['release', 'release held uploads, so that the files appear under their names'],
  ['discard', 'delete held uploads'],
  ['inspect-again', 'have held uploads inspected again, in the background'],
] as const;

/** Registers `svc held`, which handles uploads that wait for a decision. */
const registerHeld: Register = (program, run) => {
  const group = program
    .command('held')
    .description('uploads of a running service that inspections hold')
    .addHelpText('after', '\nExamples:\n  svc held list\n  svc held release ID');
  withService(group.command('list').description('print the held uploads'))
    .option('--account <name>', 'only the uploads of this account')
    .option('--json', 'print one JSON object per line')
    .addHelpText('after', `\n${heldHelp}\n\nExamples:\n  svc held list\n  svc held list --account alice --json`)
    .action((options) => run(async () => (await import('./control/control.ts')).list('held', options)));
  withService(group.command('show').description('print everything that is known about a held upload').argument('<id>', 'ID, as listed'))
    .option('--json', 'print one JSON document')
    .addHelpText('after', `\n${heldHelp}\n\nExamples:\n  svc held show ID`)
    .action((id, options) => run(async () => (await import('./control/control.ts')).showHeld(id, options)));
  for (const [verb, description] of heldVerbs) {
    const command = withService(group.command(verb).description(description).argument('<id...>', 'IDs, as listed'));
    if (verb === 'discard') command.option('--reason <text>', 'reason, for the events');
    command
      .option('--json', 'print one JSON object for each ID, with "error" if it failed')
      .addHelpText('after', `\n${heldHelp}\n\nExamples:\n  svc held ${verb} ID`)
      .action((ids, options) => run(async () => (await import('./control/control.ts')).actOnHeld(verb, ids, options)));
  }
};

function withFilters(command: Command, accounts: boolean): Command {
  withService(command);
  if (accounts) command.option('--account <name>', 'only the entries of this account');
  return command.option('--address <address>', 'only the entries of this address, or of addresses in this CIDR range');
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
With a configuration file, svc serve starts what the file describes. Without one it serves the folder --root to one account on http://127.0.0.1:8080.

With --workers above 1, the process starts that number of nodes. They share the addresses of the configuration and its Redis (server.state). The process supervises the nodes, and restarts a node that ends.

Signals:
  SIGTERM, SIGINT  stop: accept nothing new, wait for running transfers;
                   a second signal cuts them, a third ends the process immediately
  SIGHUP           reload the configuration

Exit codes:
  0         stopped, all transfers had ended
  1         the configuration is not valid
  2         wrong use
  3         could not run: port in use, data folder not writable, no node
            could be started
  70        a fault of the program; the journal was flushed and the log has the
            reason: start it again
  130, 143  stopped by a signal before all transfers had ended

Examples:
  svc serve
  svc serve --root /srv/files --port 9000 --user alice:secret-words
  svc serve --config /etc/svc/svc.config.yaml --log-format json
  svc serve --workers auto`;

const reloadHelp = `
The service reads its configuration again. If the file has an error, the service keeps the configuration that it has, and the findings are printed.

Sessions, transfers and the positions of event handlers survive a reload. If an account was removed or disabled, or if its password or key changed, its sessions and transfers end within a second. All other accounts get their new rights and limits with their next request. A listener is reopened only if its address changed. Renewed TLS files need no reload.

svc reload finds the service by its data folder.

Exit codes: 0 reloaded, 1 refused (the findings are printed), 2 wrong use, 3 no service runs, or it did not answer.

Examples:
  svc reload
  svc validate --strict && svc reload
  svc reload --data-folder /var/lib/svc --json`;

/** Registers `svc serve` and `svc reload`. */
export const registerServe: Register = (program, run) => {
  program
    .command('serve')
    .description('start the services, authentication methods and event handlers of the configuration')
    .option('-c, --config <file>', 'configuration file (default: svc.config.yaml, .svcrc or package.json here)')
    .option('--root <folder>', 'without a configuration: folder to serve (default: ./files)')
    .option('--user <name:password>', 'without a configuration: account (default: admin with a random password, or with SVC_PASSWORD)')
    .option('--address <address>', 'without a configuration: address to listen on (default: 127.0.0.1)')
    .option('--port <port>', 'without a configuration: port to listen on (default: 8080)', portNumber)
    .option('--ssh [port]', 'without a configuration: also serve SFTP (default port: 2222)', portNumber)
    .option(
      '--console [port]',
      'without a configuration: also serve the console on 127.0.0.1 and print a login link (default port: 9101)',
      portNumber,
    )
    .option(
      '--workers <number>',
      'number of processes; more than 1 needs server.state redis; auto = one per core (default: 1)',
      workerCount,
    )
    .addOption(new Option('--log-level <level>', 'lowest level to log').choices(logLevels).env('SVC_LOG_LEVEL'))
    .addOption(new Option('--log-format <format>', 'format of the log').choices(['pretty', 'json']).env('SVC_LOG_FORMAT'))
    .addHelpText('after', serveHelp)
    .action((options) => run(async () => (await import('./serve/serve.ts')).serve(options)));
  program.command('__node', { hidden: true }).action(() => run(async () => (await import('./serve/node.ts')).node()));
  program
    .command('reload')
    .description('make a running service read its configuration again')
    .option('-c, --config <file>', 'configuration file (default: svc.config.yaml, .svcrc or package.json here)')
    .option('--data-folder <folder>', 'data folder of the service (default: that of the configuration)')
    .option('--timeout <seconds>', 'how long to wait for the answer', secondsNumber, 60)
    .option('--json', 'print one JSON document')
    .addHelpText('after', reloadHelp)
    .action((options) => run(async () => (await import('./serve/reload.ts')).reload(options)));
};
