import type { HandlerView } from '../../console/api/schemas/overview.ts';
import type { Clock } from '../../lib/clock.ts';
import { isServiceError } from '../../lib/errors.ts';
import { redactedUrl } from '../../lib/remote/redacted-url.ts';
import type { ServerView } from '../monitor-sources.ts';
import type { Others } from '../nodes/installation.ts';
import { HourOfDeliveries } from './hour-of-deliveries.ts';

const nothingKnown = {
  state: 'stopped',
  reason: '',
  waiting_events: 0,
  oldest_waiting_seconds: 0,
  rate_per_minute: 0,
  suspended_urls: [],
  is_failing: false,
  last_hour: [],
  last_error: '',
  last_error_time: null,
} satisfies Partial<HandlerView>;

/** The event handlers of an installation, as consoles show them. */
export class HandlerViews {
  readonly #view: () => ServerView;
  readonly #clock: Clock;
  readonly #hour: HourOfDeliveries;
  /** The last known views. */
  #known = new Map<string, HandlerView>();

  /** @param view the server at present; called once its core is open */
  constructor(view: () => ServerView, clock: Clock) {
    this.#view = view;
    this.#clock = clock;
    this.#hour = new HourOfDeliveries(() => this.#view().core.records, clock);
  }

  /**
   * All handlers; while Redis is unreachable the last known ones, shown as stopped.
   *
   * @param readsHour whether the deliveries of the last hour are counted; else they are as at the last count
   */
  async list(others: Others, readsHour = true): Promise<HandlerView[]> {
    try {
      if (readsHour) await this.#hour.refresh();
      const views = await this.#read(others);
      this.#known = new Map(views.map((view) => [view.uuid, view]));
      return views;
    } catch (error) {
      if (!isServiceError(error, 'unavailable')) throw error;
      return this.#remembered(others.incomplete || error.message);
    }
  }

  #remembered(why: string): HandlerView[] {
    return Object.entries(this.#view().config.event_handlers).map(([uuid, { name, enabled, url }]) => {
      const known = this.#known.get(uuid) ?? nothingKnown;
      const common = { ...known, uuid, name: name || uuid, enabled, reason: '', node: '', urls: url.map(redactedUrl) };
      if (!enabled) return { ...common, state: 'disabled' };
      return known.state === 'paused' ? { ...common, reason: known.reason, state: 'paused' } : { ...common, reason: why, state: 'stopped' };
    });
  }

  async #read({ nodes, ownName }: Others): Promise<HandlerView[]> {
    const { config, core } = this.#view();
    const { deliveries, journal } = core;
    const nowMs = this.#clock.nowMs();
    const figures = new Map((await deliveries.figures()).map((state) => [state.handler, state]));
    const nameOf = (uuid = '') => nodes.find((node) => node.uuid === uuid)?.node ?? uuid;
    return Promise.all(
      Object.entries(config.event_handlers).map(async ([uuid, { name, enabled, url: urls }]) => {
        const state = figures.get(uuid);
        const waiting = state && (state.shared?.waiting ?? (await journal.backlog(state.position)));
        const suspended = state ? await deliveries.suspendedUrls(uuid) : [];
        return {
          uuid,
          name: name || uuid,
          enabled,
          state: state?.state ?? 'disabled',
          reason: state?.reason ?? '',
          waiting_events: waiting?.events ?? 0,
          oldest_waiting_seconds: waiting?.oldestMs === undefined ? 0 : Math.max(nowMs - waiting.oldestMs, 0) / 1000,
          rate_per_minute: state?.deliveriesPerMinute ?? 0,
          suspended_urls: suspended.map(({ url, untilMs }) => ({ url: redactedUrl(url), until: new Date(untilMs).toISOString() })),
          urls: urls.map(redactedUrl),
          ...this.#hour.of(uuid),
          node: state?.hasLease === false ? nameOf(state.node) : ownName,
        };
      }),
    );
  }
}
