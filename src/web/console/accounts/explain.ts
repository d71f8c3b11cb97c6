import type { Decision } from '../../../config/report-shapes.ts';
import { make } from '../../shared/dom.ts';
import { choice, field } from '../fields.ts';
import { text } from '../language.ts';
import { ask } from '../request.ts';
import { facts, panel } from '../section.ts';
import { datum } from '../shown.ts';
import { yesNoBadge } from '../states.ts';
import { answerForm } from './answer-form.ts';

const methods = ['GET', 'PUT', 'DELETE', 'MKCOL', 'MOVE', 'COPY', 'PROPFIND', 'LOCK', 'LOGIN'];

/** The question what an account may do, and its answer. */
export function explainPanel(): HTMLElement {
  const user = make('input', { required: true, attributes: { autocomplete: 'off', autocapitalize: 'none' } });
  const group = make('input', { attributes: { autocomplete: 'off', autocapitalize: 'none' } });
  const method = choice(
    'method',
    methods.map((name) => [name, name] as const),
  );
  const path = make('input', { value: '/home/', attributes: { autocomplete: 'off', autocapitalize: 'none' } });
  const destination = make('input', { attributes: { autocomplete: 'off', autocapitalize: 'none' } });
  const pathField = field(text('path'), path);
  const destinationField = field(text('destination'), destination);
  const settle = () => {
    pathField.hidden = method.value === 'LOGIN';
    destinationField.hidden = method.value !== 'MOVE' && method.value !== 'COPY';
  };
  method.addEventListener('change', settle);
  settle();
  const { form, answer } = answerForm(
    text('explainAsk'),
    [field(text('account'), user), field(text('groupOptional'), group), field(text('method'), method), pathField, destinationField],
    async () => {
      const body = {
        user: user.value,
        method: method.value,
        ...(group.value !== '' && { group: group.value }),
        ...(!pathField.hidden && { path: path.value }),
        ...(!destinationField.hidden && { destination: destination.value }),
      };
      return [decisionView(await ask<Decision>('POST', '/api/explain', { body }))];
    },
  );
  return panel(text('explainTitle'), make('p', { className: 'hint' }, text('explainHint')), form, answer);
}

function decisionView(decision: Decision): HTMLElement {
  const steps = decision.steps.map(({ step, ok, text: words }) =>
    make('li', { className: ok ? 'ok' : 'no' }, make('span', { className: 'step' }, step), datum(words)),
  );
  return make(
    'div',
    {},
    make(
      'p',
      { className: 'verdict' },
      yesNoBadge(decision.allowed, text('allowed'), text('refusedWord')),
      ' ',
      datum(decision.reason ?? ''),
    ),
    make('ol', { className: 'steps' }, ...steps),
    facts(
      [text('group'), decision.group ? datum(decision.group) : undefined],
      [text('realPath'), decision.real_path ? datum(decision.real_path, 'code') : undefined],
      [text('rule'), decision.rule ? datum(decision.rule) : undefined],
    ),
  );
}
