import type { Overview } from '../../../console/api/schemas/overview.ts';
import { make } from '../../shared/dom.ts';
import { text } from '../language.ts';
import { hashFor } from '../route.ts';

/** Returns links to all current problems; an empty list if there are none. */
export function problemLinks({ handlers, methods, nodes, held_uploads, missing_files }: Overview): HTMLElement[] {
  const down = methods.filter(({ state, reason }) => state !== 'disabled' && (state !== 'running' || reason !== ''));
  const counts = {
    problemStopped: [handlers.filter(({ state }) => state === 'stopped').length, hashFor('handlers')],
    problemFailing: [handlers.filter(({ state, is_failing }) => state === 'running' && is_failing).length, hashFor('handlers')],
    problemMethods: [down.length, hashFor('overview', '', { show: 'methods' })],
    problemNodes: [nodes.filter(({ phase }) => phase === 'gone').length, hashFor('overview', '', { show: 'nodes' })],
    problemHeld: [held_uploads ?? 0, hashFor('held')],
    problemMissing: [missing_files, hashFor('expectations')],
  } as const;
  return Object.entries(counts).flatMap(([name, [count, href]]) =>
    count > 0 ? [make('a', { href }, text(name as keyof typeof counts, { count }))] : [],
  );
}

/** Builds a strip that lists current problems. `show` hides it if there are none. */
export function problemStrip() {
  const list = make('ul');
  const strip = make('section.problems', { hidden: true }, make('h2', text('problems')), list);
  const show = (overview: Overview) => {
    const links = problemLinks(overview);
    strip.hidden = links.length === 0;
    const told = links.map((link) => `${link.textContent} ${link.getAttribute('href')}`).join();
    // Write only changed text, because screen readers announce each change.
    if (list.dataset.told === told) return;
    list.dataset.told = told;
    list.replaceChildren(...links.map((link) => make('li', link)));
  };
  return { element: make('div', { role: 'status' }, strip), show };
}
