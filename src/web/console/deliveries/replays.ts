import type { ReplayList, ReplayView } from '../../../console/api/schemas/replays.ts';
import { make } from '../../shared/dom.ts';
import { text } from '../language.ts';
import { ask } from '../request.ts';
import { hashOf } from '../route.ts';
import { badge, IncompleteLine, nothing, stateBadge } from '../section.ts';
import { datum, numberText, timeOf } from '../shown.ts';
import { Table } from '../table.ts';

/** Shows the replays of late. */
export async function showReplays(place: HTMLElement, signal: AbortSignal): Promise<void> {
  const { replays, incomplete } = await ask<ReplayList>('GET', '/api/replays', { signal });
  const missing = new IncompleteLine();
  missing.show(incomplete);
  place.append(missing.element);
  if (replays.length === 0) {
    place.append(nothing(text('noReplays')));
    return;
  }
  const table = new Table<ReplayView>(
    text('replays'),
    text('noReplays'),
    [
      { title: text('time'), cell: ({ created }) => timeOf(created), className: 'narrow' },
      { title: text('state'), cell: ({ state }) => stateBadge(state), className: 'narrow' },
      {
        title: text('kind'),
        cell: ({ id, dry_run }) => make('a.row-link', { href: hashOf('deliveries', `replays/${id}`) }, text(dry_run ? 'dryRun' : 'replay')),
      },
      { title: text('progress'), cell: ({ done, total }) => countOf(done, total), className: 'number' },
      { title: text('outcome_delivered'), cell: ({ delivered }) => numberText(delivered), className: 'number' },
      { title: text('outcome_failed'), cell: ({ failed }) => (failed > 0 ? badge(numberText(failed), 'bad') : '0'), className: 'number' },
      { title: text('administrator'), cell: ({ administrator }) => datum(administrator) },
      { title: text('node'), cell: ({ node }) => datum(node) },
    ],
    ({ id }) => id,
  );
  table.show(replays);
  place.append(table.element);
}

/** How many of how many are done; of how many may not be known yet. */
export function countOf(done: number, total: number | null): string {
  return total === null ? numberText(done) : text('running', { done, total });
}
