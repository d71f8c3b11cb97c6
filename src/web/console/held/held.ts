import { make, makeButton } from '../../shared/dom.ts';
import { sizeText } from '../../shared/locale.ts';
import { notice } from '../../shared/notices.ts';
import { confirm } from '../confirm.ts';
import { field } from '../fields.ts';
import { text, translate } from '../language.ts';
import { ask } from '../request.ts';
import { actionButton, badge, heading, panel, type Stage, tell } from '../section.ts';
import { mayReview } from '../session.ts';
import { ageElement, clear, datum } from '../shown.ts';
import { type Column, makeTable } from '../table.ts';

/** A held upload, as the API shows it. */
interface Held {
  id: string;
  account: string;
  path: string;
  size: number;
  time: string;
  digest: { 'sha-256': string };
  state: 'inspecting' | 'held';
  reason: string;
  verdicts: { inspection: string; verdict: string; message: string }[];
}

type Action = 'release' | 'discard' | 'inspect-again';

function verdictList({ verdicts }: Held): HTMLElement {
  const items = verdicts.map(({ inspection, verdict, message }) =>
    make('li', datum(inspection, 'code'), ` ${translate('verdict', verdict)}`, message !== '' && make('span.hint', ` ${clear(message)}`)),
  );
  return make('ul.plain-list', ...items);
}

const columns: readonly Column<Held>[] = [
  {
    title: text('path'),
    cell: ({ path, account, size, digest }) => {
      const sha = `SHA-256 ${digest['sha-256']}`;
      const about = make('span.hint', datum(account), ` · ${sizeText(size)}`);
      return make('div.stacked', datum(path), about, make('span.hint.digest', { title: sha }, sha));
    },
  },
  { title: text('heldSince'), cell: ({ time }) => ageElement(time), className: 'narrow' },
  {
    title: text('reason'),
    cell: (held) => {
      const { state, reason } = held;
      const isOpen = state === 'inspecting';
      const told = badge(isOpen ? text('heldInspecting') : translate('held', reason), isOpen || reason === 'verdict' ? 'calm' : 'warn');
      return make('div.stacked', told, verdictList(held));
    },
    className: 'whole',
  },
];

/** Shows the uploads that inspections hold. Reviewers and operators can decide about them. */
export async function showHeld({ main, signal }: Stage): Promise<void> {
  const act = async (action: Action, { id }: Held, reason = '') => {
    const body = { ids: [id], ...(reason !== '' && { reason }) };
    const { results } = await ask<{ results: { error?: string }[] }>('POST', `/api/held/${action}`, { body });
    return results[0]?.error === undefined ? undefined : clear(results[0].error);
  };
  const decide = async (action: 'release' | 'discard', item: Held) => {
    const reason = make('input', { autocomplete: 'off', maxLength: 1000 });
    const question: HTMLElement[] = [make('p', make('bdi', clear(item.path))), make('p.hint', text(`held_${action}_effect`))];
    if (action === 'discard') question.push(field(text('heldReason'), reason));
    const button = { label: text(`held_${action}`), kind: action === 'discard' ? 'primary danger' : 'primary' } as const;
    const title = text(`held_${action}_question`);
    if (!(await confirm(title, question, button, () => act(action, item, reason.value.trim())))) return;
    notice(text(`held_${action}_done`));
    await load();
  };
  const inspectAgain = async (item: Held) => {
    const problem = await act('inspect-again', item);
    if (problem === undefined) notice(text('held_inspect_again_done'));
    else notice(text('failed', { reason: problem }), 'error');
    await load();
  };
  const actions: Column<Held> = {
    title: text('action'),
    cell: (item) =>
      make(
        'div.row',
        makeButton(text('held_release'), 'resume', () => void tell(decide('release', item)), 'small'),
        makeButton(text('held_discard'), 'close', () => void tell(decide('discard', item)), 'small'),
        makeButton(text('held_inspect_again'), 'search', () => void tell(inspectAgain(item)), 'quiet small'),
        make('a.button.quiet.small', { href: `/api/held/${item.id}/content`, download: '' }, text('heldDownload')),
      ),
    className: 'actions',
  };
  const table = makeTable<Held>(text('held'), text('heldNone'), mayReview() ? [...columns, actions] : columns, ({ id }) => id);
  const more = make('p.hint', { hidden: true });
  const load = async () => {
    const { items, total } = await ask<{ items: Held[]; total: number }>('GET', '/api/held', { signal });
    table.show(items);
    more.hidden = items.length === total;
    more.textContent = text('heldMore', { shown: items.length, total });
  };
  main.append(heading(text('held'), actionButton(text('heldRefresh'), 'recent', load, 'compact')));
  main.append(panel(text('heldTitle'), make('p.hint', text('heldHint')), table.element, more));
  await load();
}
