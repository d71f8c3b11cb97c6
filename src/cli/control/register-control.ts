import type { Command } from 'commander';
import type { ControlledName } from '../../control/collection.ts';
import { type Register, secondsNumber } from '../arguments.ts';

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
    listing.action((options) => run(async () => (await import('./control.ts')).list(name, options)));
    const removal = withFilters(
      group.command('remove').description(`remove ${description}`).argument('[id...]', 'IDs, as listed'),
      accounts,
    )
      .option('--all', `remove all ${name}`)
      .option('--json', 'print one JSON object for each that was removed')
      .addHelpText('after', `\n${help}\n\n${commonHelp}\n\nExamples:\n${examples(name, 'remove', accounts)}`);
    removal.action((ids, options) => run(async () => (await import('./control.ts')).remove(name, ids, options)));
  }
  program
    .command('health')
    .description('ask a running service whether it is ready')
    .option('-c, --config <file>', 'configuration file (default: svc.config.yaml and the like in this folder)')
    .option('--url <url>', 'monitor of the service (default: that of the configuration)')
    .option('--timeout <seconds>', 'longest wait for an answer', secondsNumber, 5)
    .option('--json', 'print one JSON document')
    .addHelpText('after', healthHelp)
    .action((options) => run(async () => (await import('./health.ts')).health(options)));
};

function withFilters(command: Command, accounts: boolean): Command {
  command
    .option('-c, --config <file>', 'configuration file (default: svc.config.yaml and the like in this folder)')
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
