import type { Argument, Command, Option } from 'commander';
import { examineConfig, findConfigFile } from '../../config/reading/load.ts';
import { readSource } from '../../config/reading/source.ts';
import type { Config } from '../../config/schema/schema.ts';
import { eventCatalogue } from '../../events/catalogue.ts';
import { exitCode } from '../exit-codes.ts';
import { print, visible } from '../output.ts';
import { explainable } from '../register-config.ts';

interface Candidate {
  word: string;
  meaning: string;
}

/** All completions of a word. `files` says whether file names are completions, too. */
interface Completions {
  candidates: Candidate[];
  files: boolean;
}

const nothing: Completions = { candidates: [], files: false };
const files: Completions = { candidates: [], files: true };

/**
 * Finds the completions of the last word of a command line.
 *
 * @param program the root command
 * @param words the words after the program's name; the last one is being typed, and may be empty
 */
async function completionsFor(program: Command, words: readonly string[]): Promise<Completions> {
  // bash splits `--option=value` at the equals sign, and treats the sign as a word, which is left out here.
  const before = words.slice(0, -1).filter((word) => word !== '=');
  const typed = words.at(-1) ?? '';
  const { command, positional } = walk(program, before);
  const last = before.at(-1) ?? '';
  const equals = /^(--[a-z-]+)=(.*)$/s.exec(typed);
  const option = optionNamed(command, program, equals?.[1] ?? last);
  if (option && takesValue(option)) {
    const found = await optionValues(option, before);
    if (!equals) return starting(found, typed);
    const prefixed = found.candidates.map(({ word, meaning }) => ({ word: `${equals[1]}=${word}`, meaning }));
    return starting({ ...found, candidates: prefixed }, typed);
  }
  if (typed.startsWith('-')) return starting({ candidates: optionNames(command, program), files: false }, typed);
  if (command.commands.length > 0 && positional.length === 0) return starting({ candidates: commandNames(command), files: false }, typed);
  return starting(argumentValues(command, command.registeredArguments[positional.length]), typed);
}

function starting({ candidates, files: areFiles }: Completions, typed: string): Completions {
  return { candidates: candidates.filter(({ word }) => word.startsWith(typed)), files: areFiles };
}

function walk(program: Command, words: readonly string[]): { command: Command; positional: string[] } {
  let command = program;
  let positional: string[] = [];
  for (let index = 0; index < words.length; index++) {
    const word = words[index] as string;
    if (word.startsWith('-')) {
      const option = optionNamed(command, program, word);
      if (option && takesValue(option)) index++;
      continue;
    }
    const next = command.commands.find((candidate) => candidate.name() === word || candidate.aliases().includes(word));
    if (next && positional.length === 0) {
      command = next;
      positional = [];
    } else positional.push(word);
  }
  return { command, positional };
}

function takesValue(option: Option): boolean {
  return option.required || option.optional;
}

function optionNamed(command: Command, program: Command, flag: string): Option | undefined {
  return [...command.options, ...program.options].find((option) => option.long === flag || option.short === flag);
}

function optionNames(command: Command, program: Command): Candidate[] {
  const all = [...command.options, ...(command === program ? [] : program.options)];
  return [
    ...all.map((option) => ({ word: option.long ?? option.short ?? '', meaning: option.description })),
    { word: '--help', meaning: 'print help' },
  ];
}

function commandNames(command: Command): Candidate[] {
  const visible = command.createHelp().visibleCommands(command);
  return visible.map((candidate) => ({ word: candidate.name(), meaning: candidate.description() }));
}

function argumentValues(command: Command, argument: Argument | undefined): Completions {
  if (!argument) return nothing;
  if (argument.argChoices) return plain(argument.argChoices);
  if (argument.name() === 'method') return plain(explainable);
  if (command.name() === 'explain' || argument.name() === 'id') return nothing;
  return files;
}

function plain(words: readonly string[]): Completions {
  return { candidates: words.map((word) => ({ word, meaning: '' })), files: false };
}

/** Returns the possible values of an option: its choices, event IDs, names in the configuration, or files. */
async function optionValues(option: Option, words: readonly string[]): Promise<Completions> {
  if (option.argChoices) return plain(option.argChoices);
  const name = option.long ?? '';
  if (name === '--id') {
    return { candidates: eventCatalogue.map(({ id, meaning }) => ({ word: String(id), meaning })), files: false };
  }
  const entries = entriesByOption[name];
  if (entries) return { candidates: entries(await findConfig(words)), files: false };
  return /<(file|folder)>/.test(option.flags) ? files : nothing;
}

type Named = Readonly<Record<string, { name?: string | undefined; description?: string | undefined }>>;

function named(section: Named | undefined): Candidate[] {
  return Object.entries(section ?? {}).map(([word, { name, description }]) => ({ word, meaning: name || description || '' }));
}

function accountNames(config: Config | undefined): Candidate[] {
  return Object.keys(config?.accounts ?? {}).map((word) => ({ word, meaning: 'account' }));
}

const entriesByOption: Readonly<Record<string, (config: Config | undefined) => Candidate[]>> = {
  '--method': (config) => named(config?.authentications),
  '--handler': (config) => named(config?.event_handlers),
  '--group': (config) => named(config?.groups),
  '--account': accountNames,
  '--user': accountNames,
  '--username': accountNames,
};

/** Reads the valid parts of the configuration for completions. It never fails, so that the shell shows no error. */
async function findConfig(words: readonly string[]): Promise<Config | undefined> {
  const at = words.findIndex((word) => word === '--config' || word === '-c');
  const inline = words.find((word) => word.startsWith('--config='))?.slice('--config='.length);
  try {
    const file = await findConfigFile({ file: inline ?? (at < 0 ? undefined : words[at + 1]), cwd: process.cwd(), env: process.env });
    if (file === undefined || file === '-') return undefined;
    return examineConfig(readSource(file), process.env).config;
  } catch {
    return undefined;
  }
}

/** This output line tells the shell script to complete file names as well. */
const filesMark = ':files';

/** Shells for which `svc completion` prints a script. */
export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/**
 * Prints the completion script of a shell. The script calls `svc` for each completion, so it also completes UUIDs of the configuration and
 * stays up to date.
 */
export async function completion(shell: Shell): Promise<number> {
  print(scripts[shell]);
  return exitCode.done;
}

/** Prints the completions of the last word, one per line: the completed word, a tab and a description. */
export async function complete(program: Command, words: readonly string[]): Promise<number> {
  const { candidates, files } = await completionsFor(program, words);
  const lines = candidates.map(({ word, meaning }) => `${visible(word)}\t${visible(meaning)}`);
  if (files) lines.push(filesMark);
  if (lines.length > 0) print(lines.join('\n'));
  return exitCode.done;
}

const bash = `# bash completion of svc: eval "$(svc completion bash)"
_svc_complete() {
  local line word
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == '${filesMark}' ]]; then
      compopt -o default 2>/dev/null
      continue
    fi
    word=\${line%%$'\\t'*}
    # The shell has split --option=value, so the word at the cursor is only the value.
    [[ \${COMP_WORDS[COMP_CWORD]} != -* && $word == --*=* ]] && word=\${word#*=}
    COMPREPLY+=("$(printf %q "$word")")
  done < <("\${COMP_WORDS[0]}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _svc_complete svc`;

const zsh = `#compdef svc
# zsh completion of svc: svc completion zsh > "\${fpath[1]}/_svc"
_svc() {
  local -a candidates lines
  local line files=0
  lines=("\${(@f)$("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  for line in $lines; do
    case $line in
      ${filesMark}) files=1 ;;
      *) candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") ;;
    esac
  done
  (( $#candidates )) && _describe -t words svc candidates
  (( files )) && _files
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _svc "$@"; else compdef _svc svc; fi`;

const fish = `# fish completion of svc: svc completion fish > ~/.config/fish/completions/svc.fish
function __svc_words
  set -l before (commandline -opc)
  svc __complete -- $before[2..-1] (commandline -ct) 2>/dev/null
end
function __svc_wants_files
  __svc_words | string match -q '${filesMark}'
end
complete -c svc -f -a "(__svc_words | string match -v '${filesMark}')"
complete -c svc -n __svc_wants_files -F`;

const scripts: Readonly<Record<Shell, string>> = { bash, zsh, fish };
