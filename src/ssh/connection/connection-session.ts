import type { Identity } from '../../auth/credentials.ts';
import type { Session } from '../../auth/sessions.ts';
import type { SshService } from '../ssh-service.ts';

/** What a look at a session costs more than memory is asked this rarely. */
const remoteCheckMs = 5000;

/** The session that a login began: it is busy as long as the connection lives, and ends with it. */
export class ConnectionSession {
  readonly #service: SshService;
  readonly #id: string;
  readonly #session: Session;
  readonly #hold: { done(): void };
  #nextCheckMs = 0;

  private constructor(service: SshService, id: string, session: Session) {
    this.#service = service;
    this.#id = id;
    this.#session = session;
    this.#hold = service.sessions.hold(session);
  }

  /** Begins a session, unless the account has as many as it may have. @returns it, or why there is none */
  static async begin(service: SshService, identity: Identity, address: string): Promise<ConnectionSession | 'too-many' | 'ended'> {
    const id = await service.sessions.createForConnection(identity, address, service.options.maximum_sessions_per_account);
    if (id === undefined) return 'too-many';
    const session = await service.sessions.find(id);
    return session ? new ConnectionSession(service, id, session) : 'ended';
  }

  /**
   * Looks at whether it was ended by somebody else.
   *
   * @param nowMs monotonic
   * @param onEnd called at once or later when it was
   */
  check(nowMs: number, onEnd: () => void): void {
    if (nowMs < this.#nextCheckMs) return;
    const found = this.#service.sessions.find(this.#id);
    if (!(found instanceof Promise)) {
      if (!found) onEnd();
      return;
    }
    this.#nextCheckMs = nowMs + remoteCheckMs;
    // While nobody can tell, it lives.
    found.then(
      (session) => session ?? onEnd(),
      () => {},
    );
  }

  /** The connection ended. */
  end(): void {
    this.#hold.done();
    const { sessions, log } = this.#service;
    sessions.end(this.#session).catch((error) => log.warn('a session could not be ended', { reason: error }));
  }
}
