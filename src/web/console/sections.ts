import { loadPart } from '../shared/parts.ts';
import { showOverview } from './overview/overview.ts';
import type { SectionName } from './route.ts';
import { isAbort, problem, type Stage } from './section.ts';

type Show = (stage: Stage) => Promise<void> | void;

/** The sections but the first one are parts of the script, fetched by who opens them. */
const sections: Record<SectionName, (id: string) => Promise<Show | undefined>> = {
  overview: async () => showOverview,
  events: async (id) =>
    id === ''
      ? (await loadPart(() => import('./events/events.ts')))?.showEvents
      : (await loadPart(() => import('./events/event-page.ts')))?.showEvent,
  deliveries: async (id) => {
    if (id === '') return (await loadPart(() => import('./deliveries/deliveries.ts')))?.showDeliveries;
    if (id.startsWith('replays/')) return (await loadPart(() => import('./deliveries/replay-page.ts')))?.showReplay;
    return (await loadPart(() => import('./deliveries/delivery-page.ts')))?.showDelivery;
  },
  handlers: async () => (await loadPart(() => import('./handlers/handlers.ts')))?.showHandlers,
  accounts: async () => (await loadPart(() => import('./accounts/accounts.ts')))?.showAccounts,
  configuration: async () => (await loadPart(() => import('./configuration/configuration.ts')))?.showConfiguration,
};

/** Shows what the URL names in place of what was shown before. */
export async function showSection(stage: Stage): Promise<void> {
  const { main, route, signal } = stage;
  try {
    const show = await sections[route.section](route.id);
    if (signal.aborted || !show) return;
    main.className = route.section;
    main.replaceChildren();
    await show(stage);
  } catch (error) {
    if (!signal.aborted && !isAbort(error)) main.append(problem(error));
  }
}
