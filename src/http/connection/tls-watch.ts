import { statSync } from 'node:fs';
import type { EventDispatcher } from '../../events/dispatcher.ts';
import type { EventComponent } from '../../events/event.ts';
import { processAccount } from '../../events/event-factory.ts';
import { eventIds } from '../../events/event-ids.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import { systemErrorCode } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import type { HttpServiceOptions } from '../options.ts';

/** How often the files are looked at; what has changed is taken over at the look after, once it stays as it is. */
const lookEveryMs = 2500;

type TlsFiles = Pick<HttpServiceOptions, 'tls_certificate_path' | 'tls_key_path' | 'tls_client_ca_path'>;

/** A service whose files are watched. */
interface Watched {
  options: TlsFiles;
  component: EventComponent;
  events: Pick<EventDispatcher, 'emit'>;
  clock: Clock;
  log: Log;
}

/**
 * Watches certificate, key and client CA of a service, so that renewing them on disk is enough. The files are looked at, not
 * subscribed to: renewals replace files and links in ways that notifications miss.
 */
export class TlsWatch {
  readonly #service: () => Watched;
  readonly #renew: () => void;
  readonly #timer: Timer;
  /** Stamps of the files in use, at the look before, and of those that were last told of as refused. */
  #used: string | undefined;
  #seen: string | undefined;
  #refused: string | undefined;

  /**
   * @param service as it is at present
   * @param renew takes the files over, all or none, or throws when they cannot be used. The old ones stay then, which is told once (`tlsFilesRefused`),
   *   and it is tried again.
   */
  constructor(service: () => Watched, renew: () => void) {
    this.#service = service;
    this.#renew = renew;
    this.#used = this.#seen = stampsOf(service().options);
    this.#timer = service().clock.every(lookEveryMs, () => this.look(false));
  }

  /** Looks now. @param isWhole whether somebody says that nobody writes at them */
  look(isWhole: boolean): void {
    const { options, component, events, log } = this.#service();
    const now = stampsOf(options);
    const isSettled = isWhole || now === this.#seen;
    this.#seen = now;
    if (now === this.#used) this.#refused = undefined;
    if (now === undefined || now === this.#used || !isSettled) return;
    try {
      this.#renew();
      this.#used = now;
      log.info('the TLS files changed and are in use', { service: component.uuid });
    } catch (error) {
      if (now === this.#refused) return;
      this.#refused = now;
      const { uuid, type, name } = component;
      log.error('the TLS files changed and cannot be used; those before stay in use', { service: uuid, reason: error });
      const data = { name, type, uuid, details: (error as Error).message };
      events.emit({ id: eventIds.tlsFilesRefused, context: { account: processAccount(), component }, data });
    }
  }

  cancel(): void {
    this.#timer.cancel();
  }
}

/** @returns undefined when they are out of reach, as for a process that gave up the rights that it read them with, or behind links in a circle */
function stampsOf(files: TlsFiles): string | undefined {
  try {
    return [files.tls_certificate_path, files.tls_key_path, files.tls_client_ca_path].map(stampOf).join(' ');
  } catch (error) {
    if (systemErrorCode(error) !== undefined) return undefined;
    throw error;
  }
}

function stampOf(path: string): string {
  const stats = path === '' ? undefined : statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats ? `${path}:${stats.ino}:${stats.size}:${stats.mtimeNs}` : path;
}
