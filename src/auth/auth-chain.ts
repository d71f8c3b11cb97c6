import {
  type Account,
  type AccountConfiguration,
  AccountError,
  effectiveAccount,
  emailAddresses,
  type GroupConfiguration,
} from '../accounts/account.ts';
import { prepareHomeFolder } from '../accounts/home-folder.ts';
import { isUserName } from '../accounts/user-names.ts';
import type { EventDispatcher } from '../events/dispatcher.ts';
import type { EventAccount, EventComponent, EventContext, RequestTrace } from '../events/event.ts';
import { peerAccount } from '../events/event-factory.ts';
import { eventIds } from '../events/event-ids.ts';
import { ServiceError } from '../lib/errors.ts';
import type { AuthMethod, AuthResult, PublicFailure } from './auth-method.ts';
import type { Identity } from './credentials.ts';
import { areAskable, type Credentials, notAskable } from './credentials.ts';

/** The chain's answer to a client's credentials. */
export type ChainResult =
  | { outcome: 'authenticated'; account: Account; identity: Identity }
  | { outcome: 'refused'; public?: PublicFailure | undefined }
  /** Refused because no method could check the credentials: this is not counted as a guess. */
  | { outcome: 'unanswered' };

interface Question {
  username: string;
  peer: Credentials['peer'];
  request?: RequestTrace | undefined;
}

/** Asks the methods of one service in order until one accepts or rejects (docs/spec/authentication.md#chain). */
export class AuthChain {
  readonly #methods: readonly AuthMethod[];
  readonly #groups: ReadonlyMap<string, GroupConfiguration>;
  readonly #events: EventDispatcher;
  readonly #service: EventComponent;
  /** Accounts by their configuration. A reload makes a new chain, a changed accounts file makes new configurations. */
  readonly #accounts = new WeakMap<AccountConfiguration, Account>();
  /** Accounts whose home folder was prepared in this turn of the event loop. */
  readonly #prepared = new Set<Account>();
  /** Accounts whose home folder was ever prepared. */
  readonly #welcomed = new WeakSet<Account>();

  /** @param service the component of the chain's events */
  constructor(
    methods: readonly AuthMethod[],
    groups: ReadonlyMap<string, GroupConfiguration>,
    events: EventDispatcher,
    service: EventComponent,
  ) {
    this.#methods = methods;
    this.#groups = groups;
    this.#events = events;
    this.#service = service;
  }

  /** Longest time that an answer takes, in milliseconds. */
  get longestAnswerMs(): number {
    return this.#methods.reduce((sumMs, method) => sumMs + method.longestAnswerMs, 0);
  }

  /** Whether a client should sign with a key: some method has it, or could accept any. */
  mayAcceptKey(username: string, key: string): boolean {
    if (!isUserName(username)) return false;
    return this.#methods.some((method) => method.state !== 'stopped' && (method.listsKey?.(username, key) ?? true));
  }

  /** Decides about the credentials that a client presented. Never throws for a refusal. */
  async authenticate(credentials: Credentials): Promise<ChainResult> {
    if (!areAskable(credentials)) return this.#nobody(credentials, notAskable);
    for (const method of this.#methods) {
      if (!this.#isAsked(method, credentials)) continue;
      if (method.state === 'failed') {
        const details = `The authentication method failed; see its event ${eventIds.componentStopped}.`;
        return this.#rejected(method, credentials, details, 'unanswered');
      }
      const result = await method.authenticate(credentials);
      if (result.outcome === 'next') continue;
      if (result.outcome === 'authenticated') return this.#accept(method, credentials, result);
      const { configurationFault: fault, kind, reason: details, response } = result;
      if (fault) this.#emit(fault.event, method, credentials, { details: fault.details });
      if (kind !== 'forbidden') return this.#rejected(method, credentials, details, kind === 'no-reply' ? 'unanswered' : 'refused');
      this.#emit(eventIds.authenticationForbidden, method, credentials, { details, response });
      return { outcome: 'refused', public: result.public };
    }
    return this.#nobody(credentials, 'No authentication method accepted the credentials.');
  }

  /**
   * Answers for a request without any credentials.
   *
   * @returns undefined when no method lets such requests in
   */
  async authenticateWithoutCredentials(peer: Credentials['peer'], request?: RequestTrace): Promise<ChainResult | undefined> {
    for (const method of this.#methods) {
      if (method.state !== 'running' || !method.authenticateWithoutCredentials) continue;
      const { username, account } = method.authenticateWithoutCredentials();
      return this.#accept(method, { username, peer, request }, { account });
    }
    return undefined;
  }

  /**
   * The present account of a login; fast while nothing changes.
   *
   * @returns undefined when the login would fail now: the account or its group is gone or disabled, the credential changed, or the service
   * no longer asks the method
   */
  inForce(identity: Identity): Account | undefined {
    const { uuid, type } = identity.method;
    const method = this.#methods.find((candidate) => candidate.uuid === uuid);
    if (!method || method.type !== type || method.state === 'stopped') return undefined;
    const configuration = method.currentConfiguration(identity);
    if (!configuration) return undefined;
    try {
      const account = this.#effectiveAccount(identity.name, configuration, method);
      return account.uuid === identity.uuid ? account : undefined;
    } catch (error) {
      if (error instanceof AccountError) return undefined;
      throw error;
    }
  }

  /** Prepares the home folder of a login whose account changed since. A failure emits an event, and ends no session. */
  welcome(account: Account, peer: Credentials['peer'], request?: RequestTrace): void {
    if (this.#welcomed.has(account)) return;
    const method = this.#methods.find(({ uuid }) => uuid === account.method.uuid);
    if (method) this.#prepareTold(account, method, { username: account.name, peer, request });
  }

  #isAsked(method: AuthMethod, question: Question): boolean {
    if (method.state !== 'stopped') return true;
    this.#emit(eventIds.methodSkipped, method, question, {});
    return false;
  }

  #accept(
    method: AuthMethod,
    question: Question,
    { account: configuration, proof }: Pick<Extract<AuthResult, { outcome: 'authenticated' }>, 'account' | 'proof'>,
  ): ChainResult {
    let account: Account;
    try {
      account = this.#effectiveAccount(question.username, configuration, method);
    } catch (error) {
      if (!(error instanceof AccountError)) throw error;
      if (error.problem !== 'group-disabled') this.#emit(eventIds.accountConfigurationBad, method, question, { details: error.message });
      return this.#rejected(method, question, error.message);
    }
    const fault = this.#prepareTold(account, method, question);
    if (fault !== undefined) return this.#rejected(method, question, fault);
    this.#events.emitGrouped({
      id: eventIds.authenticationAccepted,
      context: {
        account: eventAccount(account, question.peer),
        component: this.#service,
        group: account.groupUuid,
        request: question.request,
      },
      data: methodData(method),
    });
    // The configuration of a callout is received once; methods with accounts of their own can be asked again.
    const kept = proof ? { proof } : { configuration };
    const { uuid, type } = method;
    return { outcome: 'authenticated', account, identity: { name: account.name, uuid: account.uuid, method: { uuid, type }, ...kept } };
  }

  /** Prepares the home folder; events `homeFolderCreated`, `homeFolderUnavailable`. @returns the reason of a failure */
  #prepareTold(account: Account, method: AuthMethod, question: Question): string | undefined {
    this.#welcomed.add(account);
    try {
      const faults: unknown[] = [];
      const created = this.#prepare(account, (fault) => faults.push(fault));
      const durable = faults.length > 0 ? false : undefined;
      if (created.length > 0)
        this.#emit(eventIds.homeFolderCreated, method, question, { path: '/', real_path: account.homeFolderPath, created, durable });
      if (durable === false) {
        const data = { path: '/', details: `Done, but not safe on disk: ${faults[0]}` };
        this.#events.emit({ id: eventIds.internalError, context: this.#contextOf(question), data });
      }
      return undefined;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      this.#emit(eventIds.homeFolderUnavailable, method, question, { real_path: account.homeFolderPath, details: error.message });
      return error.message;
    }
  }

  // Logins of one turn of the event loop find the same home folder.
  #prepare(account: Account, onUnsynced: (fault: unknown) => void): string[] {
    if (this.#prepared.has(account)) return [];
    const created = prepareHomeFolder(account, onUnsynced);
    if (this.#prepared.size === 0) setImmediate(() => this.#prepared.clear());
    this.#prepared.add(account);
    return created;
  }

  // Clients with Basic log in with each request: one configuration makes one account.
  #effectiveAccount(username: string, configuration: AccountConfiguration, method: AuthMethod): Account {
    const known = this.#accounts.get(configuration);
    if (known?.name === username && known.method.uuid === method.uuid) return known;
    const account = effectiveAccount(username, configuration, this.#groups, method);
    this.#accounts.set(configuration, account);
    return account;
  }

  #rejected(method: AuthMethod, question: Question, details: string, outcome: 'refused' | 'unanswered' = 'refused'): ChainResult {
    this.#emit(eventIds.authenticationRejected, method, question, { details });
    return { outcome };
  }

  #nobody(question: Question, details: string): ChainResult {
    this.#events.emit({
      id: eventIds.credentialsNotAccepted,
      context: this.#contextOf(question),
      data: { username: question.username, details },
    });
    return { outcome: 'refused' };
  }

  #emit(id: number, method: AuthMethod, question: Question, data: Record<string, unknown>): void {
    this.#events.emit({ id, context: this.#contextOf(question), data: { username: question.username, ...methodData(method), ...data } });
  }

  #contextOf(question: Question): EventContext {
    return { account: peerAccount(question.peer), component: this.#service, request: question.request };
  }
}

function methodData(method: AuthMethod): Record<string, unknown> {
  return { method_uuid: method.uuid, method_name: method.name, method_type: method.type };
}

type NamedAccount = Pick<Account, 'name' | 'uuid' | 'email'>;

/** An account as events carry it (docs/spec/events.md#account). */
export function eventAccount(account: NamedAccount, peer: Credentials['peer']): EventAccount {
  const known = eventAccounts.get(peer);
  if (known?.account === account) return known.shown;
  const emails = emailAddresses(account.email).map(({ name, address }): [string, string] => [name, address]);
  const email = emails[0] && { email: emails[0][1], emails };
  const shown = { uuid: account.uuid, name: account.name, ...email, peer };
  eventAccounts.set(peer, { account, shown });
  return shown;
}

/** The last account of each connection: most connections serve many requests of one account. */
const eventAccounts = new WeakMap<Credentials['peer'], { account: NamedAccount; shown: EventAccount }>();
