import type { Command } from 'commander';
import { exitCode } from '../exit-codes.ts';
import { print, visible } from '../output.ts';
import { completionsFor } from './completion-words.ts';

/** Stands among the candidates when names of files fit, too. */
const filesMark = ':files';

/** Shells that `svc completion` writes for. */
export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/** Prints the completion script of a shell. The script asks `svc` itself, so that it knows UUIDs and is never stale. */
export async function completion(shell: Shell): Promise<number> {
  print(scripts[shell]);
  return exitCode.done;
}

/** Prints what may stand in place of the last word: a word, a tab and its meaning a line. */
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
    # The shell has split --option=value; only the value is its word.
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
