import { nameInText } from '../../../lib/clear-name.ts';
import { ask } from '../../shared/dialogs.ts';
import { make } from '../../shared/dom.ts';
import { text } from '../language.ts';

/** What to do with a file whose name is taken. */
export type ConflictChoice = 'overwrite' | 'keep-both' | 'skip';

let forAll: ConflictChoice | undefined;
let before: Promise<unknown> = Promise.resolve();

/** Asks what to do, one question at a time; an answer for all further conflicts is kept until the queue is empty. */
export function decide(name: string): Promise<ConflictChoice> {
  const decision = before.then(() => forAll ?? question(name));
  before = decision;
  return decision;
}

/** Forgets the answer for all. */
export function forgetChoice(): void {
  forAll = undefined;
}

async function question(name: string): Promise<ConflictChoice> {
  const always = make('input', { type: 'checkbox' });
  const answer = await ask({
    title: text('conflict', { name: nameInText(name) }),
    content: [make('p', {}, text('conflictQuestion')), make('label', { className: 'line' }, always, text('forAll'))],
    buttons: [
      { value: 'skip', label: text('skip') },
      { value: 'overwrite', label: text('overwrite') },
      { value: 'keep-both', label: text('keepBoth'), kind: 'primary' },
    ],
  });
  const decision = answer === 'overwrite' || answer === 'keep-both' ? answer : 'skip';
  if (always.checked) forAll = decision;
  return decision;
}
