import { make } from '../../shared/dom.ts';
import { text } from '../language.ts';
import { More } from '../more.ts';
import { replayButton } from '../replay-button.ts';
import { hashOf } from '../route.ts';
import { heading, panel, type Stage } from '../section.ts';
import { eventFilter } from './event-filter.ts';
import { eventTable } from './event-table.ts';
import { FoundEvents } from './found-events.ts';
import { LiveTail } from './live-tail.ts';

/** Shows what happened, the newest first: what comes just now, and what is searched for. */
export async function showEvents({ main, route: { query }, signal }: Stage): Promise<void> {
  const table = eventTable(text('events'), text('noEvents'));
  const status = make('p', { className: 'hint', attributes: { role: 'status' } });
  const found = new FoundEvents(query, table, status, signal);
  const more = new More({ next: () => found.next(), signal });
  const onCut = () => {
    found.goBack();
    more.offer();
  };
  const tail = new LiveTail(query, table, { signal, onCut });
  const replay = replayButton(text('replayMatching'), () => ({ filter: Object.fromEntries(query) }));
  main.append(
    heading(text('events'), tail.badge, tail.button),
    eventFilter(query, (asked) => {
      const hash = hashOf('events', '', asked);
      if (location.hash === hash) dispatchEvent(new HashChangeEvent('hashchange'));
      else location.hash = hash;
    }),
    panel(
      text(query.size > 0 ? 'found' : 'latest'),
      make('div', { className: 'row' }, status, query.size > 0 && replay),
      table.element,
      more.element,
    ),
  );
  await more.load();
  // What is searched for until some time is over.
  if (query.has('until')) tail.button.hidden = tail.badge.hidden = true;
  else tail.start(found.begin);
}
