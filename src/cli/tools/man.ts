import type { EventEmitter } from 'node:events';
import type { Command } from 'commander';
import { exitCode } from '../exit-codes.ts';
import { print } from '../output.ts';

/** Prints the manual page of all commands, for man(1). */
export async function man(program: Command): Promise<number> {
  print(manPage(program));
  return exitCode.done;
}

/** Renders the manual page svc(1) from the help texts, in the roff macros of man(7). */
function manPage(program: Command): string {
  const commands = commandsBelow(program);
  return [
    `.TH SVC 1 "" "svc ${SVC_VERSION}" "User Commands"`,
    '.SH NAME',
    'svc \\- file-transfer server with an authentication callout and event webhooks',
    '.SH SYNOPSIS',
    '.B svc',
    '.RI [ options ]',
    '.I command',
    '.RI [ arguments ]',
    '.SH DESCRIPTION',
    roff(program.description()),
    '.SH OPTIONS',
    ...optionLines(program),
    '.SH COMMANDS',
    ...commands.flatMap(commandLines),
    '.SH EXIT STATUS',
    ...addedText(addedHelp(program)),
    '.SH ENVIRONMENT',
    ...environment.flatMap(([name, meaning]) => ['.TP', `.B ${name}`, roff(meaning)]),
    '.SH FILES',
    '.TP',
    roff('svc.config.yaml, svc.config.yml, svc.config.json, .svcrc, .svcrc.yaml, .svcrc.json, package.json'),
    roff('Names of the configuration file. svc looks for it only in the current folder.'),
  ].join('\n');
}

const environment: readonly (readonly [string, string])[] = [
  ['SVC_CONFIG', 'Configuration file, like --config.'],
  ['SVC_PASSWORD', 'Password of the account that svc serve creates without a configuration.'],
  ['SVC_LOG_LEVEL', 'Log level, like --log-level of svc serve.'],
  ['SVC_LOG_FORMAT', 'Log format, like --log-format of svc serve.'],
  ['SVC_DEBUG', 'Has the effect of --debug, unless it is empty or 0.'],
  ['NO_COLOR', 'Turns colours off when it is not empty.'],
];

function commandsBelow(command: Command): Command[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .filter((candidate) => candidate.name() !== 'help')
    .flatMap((candidate) => [...(runs(candidate) ? [candidate] : []), ...commandsBelow(candidate)]);
}

/** Returns whether a command can be run. A command that only groups other commands has no options. */
function runs(command: Command): boolean {
  return command.commands.length === 0 || command.options.length > 0;
}

function fullName(command: Command): string {
  return command.parent ? `${fullName(command.parent)} ${command.name()}` : command.name();
}

function commandLines(command: Command): string[] {
  const usage = command.createHelp().commandUsage(command);
  return [
    `.SS ${roff(fullName(command))}`,
    roff(`${command.description()}.`),
    '.PP',
    `.B ${roff(usage)}`,
    ...command.registeredArguments.flatMap((argument) => ['.TP', `.I ${roff(argument.name())}`, roff(argument.description)]),
    ...optionLines(command),
    ...addedText(addedHelp(command)),
  ];
}

function optionLines(command: Command): string[] {
  const help = command.createHelp();
  return help
    .visibleOptions(command)
    .flatMap((option) => ['.TP', `.B ${roff(help.optionTerm(option))}`, roff(help.optionDescription(option))]);
}

/** Returns the text added with `addHelpText('after', …)`, such as examples and exit codes. */
function addedHelp(command: Command): string {
  let text = '';
  const context = { error: false, command, write: (added: string) => (text += added) };
  // Commander collects these texts through an event of the command. Its typings do not declare that a command is an EventEmitter.
  (command as unknown as EventEmitter).emit('afterHelp', context);
  return text.trim();
}

/** Converts help text to roff. Lines become paragraphs, but indented lines, such as examples and tables, keep their layout. */
function addedText(text: string): string[] {
  const lines = text.split('\n').map((line) => (line === '' ? '.PP' : line.startsWith(' ') ? `.nf\n${roff(line)}\n.fi` : roff(line)));
  return text === '' ? [] : ['.PP', ...lines];
}

/** Escapes a text for roff: backslashes, hyphens, and dots and quotes at the start of a line. */
function roff(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/gm, '\\&$1')
    .replaceAll('\n', ' ');
}
