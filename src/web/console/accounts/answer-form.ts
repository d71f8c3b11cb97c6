import { make } from '../../shared/dom.ts';
import { problem } from '../section.ts';

/** A form that asks a question, and the place of its answer. @param find asks it; what it gives is shown */
export function answerForm(label: string, fields: readonly HTMLElement[], find: () => Promise<HTMLElement[]>) {
  const button = make('button', { className: 'primary' }, label);
  const answer = make('div', { className: 'answer', attributes: { role: 'status' } });
  const form = make('form', { className: 'filter' }, ...fields, make('div', { className: 'row buttons' }, button));
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      answer.replaceChildren(...(await find()));
    } catch (error) {
      answer.replaceChildren(problem(error));
    }
    button.disabled = false;
  });
  return { form, answer };
}
