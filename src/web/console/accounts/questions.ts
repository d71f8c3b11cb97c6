import type { AuthTestReport, Decision, MethodReport } from '../../../config/report-shapes.ts';
import { make } from '../../shared/dom.ts';
import { choice, field } from '../fields.ts';
import { text, translate } from '../language.ts';
import { ask } from '../request.ts';
import { badge, facts, problem } from '../section.ts';
import { datum, tree } from '../shown.ts';

/** Builds a panel with a form and a place for the answer. @param find returns the answer to show */
function questionPanel(name: 'explain' | 'authTest', fields: readonly HTMLElement[], find: () => Promise<HTMLElement[]>): HTMLElement {
  const button = make('button.primary', text(`${name}Ask`));
  const answer = make('div.answer', { role: 'status' });
  const form = make('form.filter', ...fields, make('div.row.buttons', button));
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    button.disabled = true;
    answer.replaceChildren(...(await find().catch((error: unknown) => [problem(error)])));
    button.disabled = false;
  });
  return make('details.panel', make('summary', text(`${name}Title`)), make('p.hint', text(`${name}Hint`)), form, answer);
}

const methods = ['GET', 'PUT', 'DELETE', 'MKCOL', 'MOVE', 'COPY', 'PROPFIND', 'LOCK', 'LOGIN'].map((name) => [name, name] as const);

function plainInput(properties: { required?: boolean; value?: string } = {}): HTMLInputElement {
  return make('input', { autocomplete: 'off', autocapitalize: 'none', ...properties });
}

/** Builds the panel that asks whether an account may do something. */
export function explainPanel(): HTMLElement {
  const [user, group, path, destination] = [plainInput({ required: true }), plainInput(), plainInput({ value: '/home/' }), plainInput()];
  const method = choice('method', methods);
  const pathField = field(text('path'), path);
  const destinationField = field(text('destination'), destination);
  const showFields = () => {
    pathField.hidden = method.value === 'LOGIN';
    destinationField.hidden = method.value !== 'MOVE' && method.value !== 'COPY';
  };
  method.addEventListener('change', showFields);
  showFields();
  const fields = [
    field(text('account'), user),
    field(text('groupOptional'), group),
    field(text('method'), method),
    pathField,
    destinationField,
  ];
  return questionPanel('explain', fields, async () => {
    const body = {
      user: user.value,
      method: method.value,
      ...(group.value !== '' && { group: group.value }),
      ...(!pathField.hidden && { path: path.value }),
      ...(!destinationField.hidden && { destination: destination.value }),
    };
    return [decisionView(await ask<Decision>('POST', '/api/explain', { body }))];
  });
}

function decisionView({ allowed, reason, steps, group, real_path, rule }: Decision): HTMLElement {
  return make(
    'div',
    make('p.verdict', badge(text(allowed ? 'allowed' : 'refusedWord'), allowed ? 'good' : 'bad'), ' ', datum(reason)),
    make('ol.steps', ...steps.map((step) => make(step.ok ? 'li.ok' : 'li.no', make('span.step', step.step), datum(step.text)))),
    facts(
      [text('group'), group ? datum(group) : undefined],
      [text('realPath'), real_path ? datum(real_path, 'code') : undefined],
      [text('rule'), rule ? datum(rule) : undefined],
    ),
  );
}

/** Builds the panel that tries a login. The password is sent, but not stored anywhere. */
export function authTestPanel(): HTMLElement {
  const username = plainInput({ required: true });
  const password = make('input', { type: 'password', required: true, autocomplete: 'new-password' });
  const address = make('input', { autocomplete: 'off', placeholder: '192.0.2.1' });
  const fields = [field(text('userName'), username), field(text('password'), password), field(text('clientAddress'), address)];
  return questionPanel('authTest', fields, async () => {
    const body = { username: username.value, password: password.value, ...(address.value !== '' && { peer: address.value }) };
    password.value = '';
    const report = await ask<AuthTestReport>('POST', '/api/auth-test', { body });
    return [make('p.verdict', authBadge(report.outcome)), ...report.methods.map(methodView)];
  });
}

function authBadge(outcome: string): HTMLElement {
  return badge(translate('auth', outcome), outcome === 'authenticated' ? 'good' : outcome === 'rejected' ? 'bad' : 'warn');
}

function methodView({ method, type, outcome, reason, url, status, status_reason, account, warnings }: MethodReport): HTMLElement {
  return make(
    'article.result',
    make('p', authBadge(outcome), ' ', datum(`${type} `), datum(method, 'code')),
    facts(
      [text('reason'), datum(reason)],
      [text('url'), url ? datum(url, 'code') : undefined],
      [text('reply'), status === undefined ? undefined : datum(`${status} ${status_reason ?? ''}`)],
      [text('account'), account ? tree(account) : undefined],
    ),
    ...warnings.map((warning) => make('p.hint', datum(warning))),
  );
}
