import { make, makeButton } from '../../shared/dom.ts';
import { field, folded, localTime, tellUnder } from '../fields.ts';
import { text, translate } from '../language.ts';
import { spans, timeProblem } from './query.ts';

/**
 * Builds the controls for the time range of a search: buttons for common ranges, two fields, and the switch for routine events.
 *
 * @param open opens a page with the new query
 */
export function timeRange(query: URLSearchParams, open: (query: URLSearchParams) => void) {
  const change = (values: Record<string, string | undefined>) => {
    const next = new URLSearchParams(query);
    for (const [name, value] of Object.entries(values)) {
      if (value === undefined) next.delete(name);
      else next.set(name, value);
    }
    return next;
  };
  const isAll = !['last', 'since', 'until'].some((name) => query.has(name));
  const preset = (name: string | undefined) => {
    const isOn = name === undefined ? isAll : query.get('last') === name;
    const label = translate('span', name ?? 'all');
    const button = makeButton(label, undefined, () => open(change({ last: name, since: undefined, until: undefined })), 'small');
    button.ariaPressed = String(isOn);
    return button;
  };
  const timeInput = (name: 'since' | 'until') => {
    const value = localTime(query.get(name) ?? '');
    return make('input', { name, type: 'datetime-local', value, attributes: { step: '1' } });
  };
  const [since, until] = [timeInput('since'), timeInput('until')];
  const iso = (input: HTMLInputElement) => (input.value === '' ? undefined : new Date(input.value).toISOString());
  const onChange = () => {
    const next = change({ last: undefined, since: iso(since), until: iso(until) });
    const reason = timeProblem(next);
    tellUnder(until, reason ?? '');
    if (reason === undefined) open(next);
  };
  const fields = [field(text('since'), since), field(text('until'), until)];
  for (const input of [since, until]) input.addEventListener('change', onChange);
  const routine = make('input', { type: 'checkbox', checked: query.has('routine') });
  routine.addEventListener('change', () => open(change({ routine: routine.checked ? '1' : undefined })));
  const presets = make('div.presets', { role: 'group', ariaLabel: text('timeRange') }, ...[...Object.keys(spans), undefined].map(preset));
  const tick = make('label.tick', routine, make('span', text('showRoutine')));
  const element = folded(
    ['last', 'since', 'until', 'routine'].filter((name) => query.has(name)).length,
    make('div.range', presets, ...fields, tick),
  );
  const problem = timeProblem(query);
  if (problem !== undefined) tellUnder(until, problem);
  return { element, isGood: problem === undefined };
}
