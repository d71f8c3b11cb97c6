import { durationSeconds, positiveNumber, type Register, serviceHelp, withService } from './arguments.ts';

const help = `A link is a URL for people without an account, who download a file or a folder by it, or drop files. It ends with its account and the right allow-share. Its URL is printed once.

${serviceHelp}`;

/** `svc links`: links to files of accounts. */
export const registerLinks: Register = (program, run) => {
  const group = program
    .command('links')
    .description('links to files of accounts at a running service')
    .addHelpText('after', '\nExamples:\n  svc links create --account alice --path /out/report.pdf --expires 3d\n  svc links list');
  withService(group.command('create').description('create a link of an account and print its URL'))
    .requiredOption('--account <name>', 'account that it belongs to')
    .requiredOption('--path <path>', 'file or folder')
    .option('--kind <kind>', 'download, or drop for a folder that accepts uploads', 'download')
    .option('--expires <time>', 'its life: seconds, or such as 8h, 3d (default: as the account has it)', durationSeconds)
    .option('--password-file <file>', 'file whose first line is the password; - reads it from standard input')
    .option('--downloads <number>', 'downloads at most', positiveNumber)
    .option('--note <text>', 'note for the visitor')
    .option('--service <uuid>', 'service of its URL (default: the first http or https service)')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `\n${help}\n\nExamples:\n  svc links create --account acme --path /in --kind drop --expires 30d --note "Orders of May"`,
    )
    .action((options) => run(async () => (await import('./control/links.ts')).createLink(options)));
  withService(group.command('list').description('print the valid links, newest first'))
    .option('--account <name>', 'only those of this account')
    .option('--json', 'print one JSON object a line')
    .addHelpText('after', `\n${help}\n\nExamples:\n  svc links list --account alice --json`)
    .action((options) => run(async () => (await import('./control/tokens.ts')).listGrants('link', options)));
  withService(group.command('revoke').description('end links').argument('[id...]', 'IDs, as listed'))
    .option('--account <name>', 'those of this account')
    .option('--all', 'all links')
    .option('--json', 'print one JSON object for each that ended')
    .addHelpText(
      'after',
      `\n${help}\n\nTransfers by them end within a second.\n\nExamples:\n  svc links revoke 4Fq2mZx1aB9c\n  svc links revoke --account alice`,
    )
    .action((ids, options) => run(async () => (await import('./control/tokens.ts')).revokeGrants('link', ids, options)));
};
