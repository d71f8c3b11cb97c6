import { byId } from '../dom.ts';
import { text } from '../language.ts';
import { folderUrl } from '../navigation/folder.ts';
import { notice } from '../notices.ts';
import { refreshRows } from '../rows.ts';
import { clearSelection } from '../selection.ts';
import { reasonFor, reasonOf, send } from '../server.ts';

/** What became of members that a command was run on. */
export interface Outcome {
  /** How many are done. */
  done: number;
  /** What went wrong with others, for people. */
  problems: string[];
  /** Whether the connection broke, so that nobody knows about the rest. */
  isLost: boolean;
}

/** A folder command without its targets. */
type Command = { command: 'delete' } | { command: 'move'; destination: string };

/** Most targets of one request, and most characters of their names: the service takes no more (docs/spec/http.md#bad-input). */
const mostTargets = 10_000;
const mostCharacters = 250_000;

/** Failures that a message tells of. */
const mostProblems = 5;

/**
 * Runs a folder command on members of the folder. The service goes on with it whatever becomes of the page. Never rejects.
 *
 * @param onProgress told how many members are through, with success or without
 */
export async function runCommand(command: Command, names: readonly string[], onProgress: (count: number) => void): Promise<Outcome> {
  const outcome: Outcome = { done: 0, problems: [], isLost: false };
  const folder = folderUrl();
  let through = 0;
  let last: string | undefined;
  onProgress(0);
  try {
    for (const target of requestsOf(names)) {
      const body = JSON.stringify({ commands: [{ ...command, target }] });
      const headers = { 'content-type': 'application/json', accept: 'application/x-ndjson, application/json' };
      const reply = await send('POST', folder, { headers, body });
      if (!reply.ok) {
        outcome.problems.push(await reasonOf(reply));
        break;
      }
      for await (const line of linesOf(reply)) {
        const item = JSON.parse(line) as { target: string; message: string | null };
        // A folder of which some could not be deleted has a line for each of that.
        if (item.target !== last) onProgress(++through);
        last = item.target;
        if (item.message === null) outcome.done++;
        else outcome.problems.push(`${item.target}: ${reasonFor(422, item.message)}`);
      }
    }
  } catch {
    outcome.isLost = true;
  }
  return outcome;
}

/** Shows what became of members, and the folder as it is now. */
export async function showOutcome({ done, problems, isLost }: Outcome, doneText: 'deleted' | 'moved'): Promise<void> {
  clearSelection();
  if (done > 0) notice(text(doneText, { count: done }));
  const reasons = problems.slice(0, mostProblems);
  if (problems.length > mostProblems) reasons.push(`… +${problems.length - mostProblems}`);
  if (isLost) reasons.push(text('noConnection'));
  if (reasons.length > 0) notice(text('error', { reason: reasons.join('; ') }), 'error');
  await refreshRows();
  byId('members').focus();
}

function* requestsOf(names: readonly string[]): Generator<string[]> {
  let part: string[] = [];
  let characters = 0;
  for (const name of names) {
    if (part.length === mostTargets || (part.length > 0 && characters + name.length > mostCharacters)) {
      yield part;
      part = [];
      characters = 0;
    }
    part.push(name);
    characters += name.length;
  }
  if (part.length > 0) yield part;
}

async function* linesOf(reply: Response): AsyncGenerator<string> {
  const reader = reply.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
    const lines = (rest + read.value).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}
