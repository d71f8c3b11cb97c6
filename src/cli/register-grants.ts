import type { Command } from 'commander';
import { collect, durationSeconds, positiveNumber, type Register, serviceHelp, withService } from './arguments.ts';

const linksHelp = `A link is a URL with which people without an account download a file or a folder, or upload files. It is valid only while its account exists and has the right allow-share. The URL is printed only once.

${serviceHelp}`;

/** Registers `svc links`, which handles links to files of accounts. */
export const registerLinks: Register = (program, run) => {
  const group = program
    .command('links')
    .description('links by which people without an account use files of a running service')
    .addHelpText('after', '\nExamples:\n  svc links create --account alice --path /out/report.pdf --expires 3d\n  svc links list');
  withService(group.command('create').description('create a link of an account and print its URL'))
    .requiredOption('--account <name>', 'account to which the link belongs')
    .requiredOption('--path <path>', 'file or folder')
    .option('--kind <kind>', 'download, or drop for a folder that accepts uploads', 'download')
    .option('--expires <time>', 'lifetime: seconds, or a time such as 8h or 3d (default: that of the account)', durationSeconds)
    .option('--password-file <file>', 'file whose first line is the password; - reads it from standard input')
    .option('--downloads <number>', 'maximum number of downloads', positiveNumber)
    .option('--note <text>', 'note for the visitor')
    .option('--service <uuid>', 'service whose URL the link has (default: the first http or https service)')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `\n${linksHelp}\n\nExamples:\n  svc links create --account acme --path /in --kind drop --expires 30d --note "Orders of May"`,
    )
    .action((options) => run(async () => (await import('./control/tokens.ts')).createLink(options)));
  withService(group.command('list').description('print the valid links, newest first'))
    .option('--account <name>', 'only the links of this account')
    .option('--json', 'print one JSON object per line')
    .addHelpText('after', `\n${linksHelp}\n\nExamples:\n  svc links list --account alice --json`)
    .action((options) => run(async () => (await import('./control/tokens.ts')).listGrants('link', options)));
  withService(group.command('revoke').description('end links').argument('[id...]', 'IDs, as listed'))
    .option('--account <name>', 'all links of this account')
    .option('--all', 'all links')
    .option('--json', 'print one JSON object for each link that ended')
    .addHelpText(
      'after',
      `\n${linksHelp}\n\nRunning transfers with these links end within a second.\n\nExamples:\n  svc links revoke 4Fq2mZx1aB9c\n  svc links revoke --account alice`,
    )
    .action((ids, options) => run(async () => (await import('./control/tokens.ts')).revokeGrants('link', ids, options)));
};

const tokensHelp = `A client presents a token as a bearer token (Authorization: Bearer), or as the password over Basic, WebDAV, the login form and SFTP. A token has at most the rights of its account, and ends with the account. svc keeps only a hash of the token, so the token is printed only once.

${serviceHelp}`;

/** Registers `svc tokens`, which handles access tokens of accounts. */
export const registerTokens: Register = (program, run) => {
  const group = program
    .command('tokens')
    .description('access tokens, with which machines use accounts of a running service')
    .addHelpText(
      'after',
      '\nExamples:\n  svc tokens create --account alice --path /in --permission allow-write --expires 30d\n  svc tokens list',
    );
  const withMembers = (command: Command) =>
    withService(command)
      .option('--name <text>', 'name of the token, for example its purpose', '')
      .option('--path <path>', 'file or folder that the token reaches; may be repeated (default: all)', collect, [])
      .option('--permission <keyword>', 'permission; may be repeated (default: those of the account)', collect, [])
      .option(
        '--expires <time>',
        'lifetime: seconds, or a time such as 10m, 8h or 30d (default: the longest that the account allows)',
        durationSeconds,
      )
      .option('--address <address>', 'address or CIDR range from which the token is accepted; may be repeated (default: all)', collect, [])
      .option('--service <uuid>', 'service that accepts the token; may be repeated (default: all)', collect, [])
      .option('--json', 'print one JSON object');
  withMembers(group.command('create').description('create a token of an account and print it'))
    .requiredOption('--account <name>', 'account to which the token belongs')
    .addHelpText(
      'after',
      `\n${tokensHelp}\n\nExamples:\n  svc tokens create --account ci --name nightly --path /in --permission allow-write --expires 30d`,
    )
    .action((options) => run(async () => (await import('./control/tokens.ts')).createToken(options)));
  withMembers(
    group
      .command('narrow')
      .description('create a token that has fewer rights than another token, and ends with it')
      .argument('<token>', 'token; - reads it from standard input'),
  )
    .addHelpText(
      'after',
      `\nThe new token never has more rights than the given token, even where an option keeps its default, and never ends later.\n\n${tokensHelp}\n\nExamples:\n  svc tokens narrow - --path /in/today --expires 10m < token.txt`,
    )
    .action((token, options) => run(async () => (await import('./control/tokens.ts')).narrowToken(token, options)));
  withService(group.command('list').description('print the valid tokens, newest first'))
    .option('--account <name>', 'only the tokens of this account')
    .option('--json', 'print one JSON object per line')
    .addHelpText('after', `\n${tokensHelp}\n\nExamples:\n  svc tokens list --account ci --json`)
    .action((options) => run(async () => (await import('./control/tokens.ts')).listGrants('token', options)));
  withService(
    group.command('revoke').description('end tokens, and the tokens and links created with them').argument('[id...]', 'IDs, as listed'),
  )
    .option('--account <name>', 'all tokens of this account')
    .option('--all', 'all tokens')
    .option('--json', 'print one JSON object for each token that ended')
    .addHelpText(
      'after',
      `\n${tokensHelp}\n\nSessions, transfers and SFTP connections that were opened with these tokens end within a second.\n\nExamples:\n  svc tokens revoke 4Fq2mZx1aB9c\n  svc tokens revoke --account ci`,
    )
    .action((ids, options) => run(async () => (await import('./control/tokens.ts')).revokeGrants('token', ids, options)));
  withService(
    group.command('rotate').description('replace a token with a new one, and print the new one').argument('<id>', 'ID, as listed'),
  )
    .option('--overlap <time>', 'time for which the old token stays valid: seconds, or a time such as 1h', durationSeconds, 0)
    .option('--json', 'print one JSON object')
    .addHelpText('after', `\n${tokensHelp}\n\nExamples:\n  svc tokens rotate 4Fq2mZx1aB9c --overlap 1h`)
    .action((id, options) => run(async () => (await import('./control/tokens.ts')).rotateToken(id, options)));
};
