import { Argument } from 'commander';
import type { Register } from '../arguments.ts';

const completionHelp = `
Commands, options, UUIDs of the configuration, accounts, event IDs and outcomes are completed.

Examples:
  eval "$(svc completion bash)"
  svc completion zsh > "\${fpath[1]}/_svc"
  svc completion fish > ~/.config/fish/completions/svc.fish`;

const manHelp = `
Examples:
  svc man | man -l -
  svc man > /usr/local/share/man/man1/svc.1`;

/** `svc completion` and `svc man`, which are made of the other commands. */
export const registerTools: Register = (program, run) => {
  program
    .command('completion')
    .description('print the completion script of a shell')
    .addArgument(new Argument('<shell>', 'name of the shell').choices(['bash', 'zsh', 'fish']))
    .addHelpText('after', completionHelp)
    .action((shell) => run(async () => (await import('./completion.ts')).completion(shell)));
  program
    .command('man')
    .description('print the manual page')
    .addHelpText('after', manHelp)
    .action(() => run(async () => (await import('./man.ts')).man(program)));
  program
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .action((words) => run(async () => (await import('./completion.ts')).complete(program, words)));
};
