import { make } from '../../shared/dom.ts';
import { text } from '../language.ts';
import { heading, problem, type Stage } from '../section.ts';
import { mayChange } from '../session.ts';
import { authTestPanel } from './auth-test.ts';
import { CollectionPanel, collections } from './collections.ts';
import { explainPanel } from './explain.ts';

/** Shows who is logged in and what they hold, and answers what an account may do. */
export async function showAccounts({ main, signal }: Stage): Promise<void> {
  const panels = collections.map((model) => new CollectionPanel(model, signal));
  main.append(
    heading(text('accounts')),
    ...panels.map(({ element }) => element),
    // Both are asked by POST, which a viewer may not send.
    ...(mayChange() ? [make('div', { className: 'pair' }, explainPanel(), authTestPanel())] : []),
  );
  await Promise.all(
    panels.map(async (panel) => {
      try {
        await panel.load();
      } catch (error) {
        if (!signal.aborted) panel.element.append(problem(error));
      }
    }),
  );
}
