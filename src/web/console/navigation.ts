import { byId, drawnIcon, icon, make } from '../shared/dom.ts';
import { text } from './language.ts';
import { hashOf, type SectionName, sectionNames } from './route.ts';
import { clear } from './shown.ts';

/** Shapes on a grid of 24, as the other icons. */
const shapes: Record<SectionName, string> = {
  overview: 'M4 4h7v8H4zm9 0h7v5h-7zM4 15h7v5H4zm9-3h7v8h-7z',
  events: 'M4 6h.01M8 6h12M4 12h.01M8 12h12M4 18h.01M8 18h12',
  deliveries: 'M20.5 3.5 10 14m10.5-10.5L14 20.5 10 14l-6.500-4z',
  handlers:
    'M12 3v6m0 0a3 3 0 1 1 0 6 3 3 0 0 1 0-6zm-2.6 4.5L4.500 17m10.100-3.500 4.900 3.500M4.500 17a1.500 1.500 0 1 0 0 3 1.500 1.500 0 0 0 0-3zm15 0a1.500 1.500 0 1 0 0 3 1.500 1.500 0 0 0 0-3z',
  accounts:
    'M9 5a3.500 3.500 0 1 0 0 7 3.500 3.500 0 0 0 0-7zM2.500 19.500a6.500 6.500 0 0 1 13 0M16 5.500a3.500 3.500 0 0 1 0 6.500m2.500 2.500a6.500 6.500 0 0 1 3 5',
  configuration: 'M4 7h9m5 0h2M4 17h2m5 0h9M15.500 4.500v5m-7 5v5',
};

/** Shows the ways to the sections and who has signed in; to nobody none. */
export function showNavigation(administrator: { name: string; role: 'viewer' | 'operator' } | undefined): void {
  const navigation = byId('sections');
  navigation.hidden = administrator === undefined;
  navigation.setAttribute('aria-label', text('sections'));
  document.body.classList.toggle('signed-in', administrator !== undefined);
  byId('sign-out').hidden = administrator === undefined;
  const skip = document.querySelector<HTMLAnchorElement>('a.skip');
  if (skip) {
    skip.hidden = administrator === undefined;
    skip.textContent = text('skip');
    skip.onclick = (event) => {
      event.preventDefault();
      byId('main').focus();
    };
  }
  const links = (administrator ? sectionNames : []).map((name) =>
    make('a', { href: hashOf(name), attributes: { 'data-section': name } }, drawnIcon(shapes[name]), make('span', {}, text(name))),
  );
  navigation.replaceChildren(...links);
  const me = byId('me');
  if (!administrator) {
    me.replaceChildren(icon('settings'), make('span', { className: 'hidden' }, text('settings')));
    return;
  }
  const role = text(administrator.role);
  me.replaceChildren(
    make('span', { className: 'hidden' }, `${text('administrator')} `),
    make('span', { className: 'who' }, make('bdi', {}, clear(administrator.name))),
    make('span', { className: 'badge calm' }, role),
  );
}

/** Marks the section that is shown, and names the window after it. */
export function markSection(section: SectionName): void {
  const navigation = byId('sections');
  for (const link of navigation.querySelectorAll('a')) {
    if (link.dataset.section !== section) {
      link.removeAttribute('aria-current');
      continue;
    }
    link.setAttribute('aria-current', 'page');
    // A phone shows three of the six.
    navigation.scrollLeft = link.offsetLeft - (navigation.clientWidth - link.offsetWidth) / 2;
  }
  document.title = `${text(section)} – svc console`;
}
