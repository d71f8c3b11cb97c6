import type { AuthTestReport, MethodReport } from '../../../config/report-shapes.ts';
import { make } from '../../shared/dom.ts';
import { field } from '../fields.ts';
import { text, wordOf } from '../language.ts';
import { ask } from '../request.ts';
import { badge, facts, heading, panel, problem, type Stage } from '../section.ts';
import { mayChange } from '../session.ts';
import { datum } from '../shown.ts';
import { tree } from '../tree.ts';
import { answerForm } from './answer-form.ts';
import { CollectionPanel, collections } from './collections.ts';
import { explainPanel } from './explain.ts';

/** Tries a login; what it is tried with is sent, and kept nowhere. */
function authTestPanel(): HTMLElement {
  const username = make('input', { required: true, attributes: { autocomplete: 'off', autocapitalize: 'none' } });
  const password = make('input', { type: 'password', required: true, attributes: { autocomplete: 'new-password' } });
  const address = make('input', { attributes: { autocomplete: 'off', placeholder: '192.0.2.1' } });
  const { form, answer } = answerForm(
    text('authTestAsk'),
    [field(text('userName'), username), field(text('password'), password), field(text('clientAddress'), address)],
    async () => {
      const body = { username: username.value, password: password.value, ...(address.value !== '' && { peer: address.value }) };
      password.value = '';
      const report = await ask<AuthTestReport>('POST', '/api/auth-test', { body });
      return [make('p', { className: 'verdict' }, outcomeOf(report.outcome)), ...report.methods.map(methodView)];
    },
  );
  return panel(text('authTestTitle'), make('p', { className: 'hint' }, text('authTestHint')), form, answer);
}

function outcomeOf(outcome: string): HTMLElement {
  const kind = outcome === 'authenticated' ? 'good' : outcome === 'rejected' ? 'bad' : 'warn';
  return badge(wordOf('auth', outcome), kind);
}

function methodView({ method, type, outcome, reason, url, status, status_reason, account, warnings }: MethodReport): HTMLElement {
  return make(
    'article',
    { className: 'result' },
    make('p', {}, outcomeOf(outcome), ' ', datum(`${type} `), datum(method, 'code')),
    facts(
      [text('reason'), datum(reason)],
      [text('url'), url ? datum(url, 'code') : undefined],
      [text('reply'), status === undefined ? undefined : datum(`${status} ${status_reason ?? ''}`)],
      [text('account'), account ? tree(account) : undefined],
    ),
    ...warnings.map((warning) => make('p', { className: 'hint' }, datum(warning))),
  );
}

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
