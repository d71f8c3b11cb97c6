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
import { hashSecret, hasSecretForm, readSecret } from '../lib/secrets.ts';
import type { AuthMethod, AuthResult, PublicFailure } from './auth-method.ts';
import { areAskable, type Credentials, type Identity, notAskable } from './credentials.ts';
import { type Grant, grantName } from './grants/grant.ts';
import { type GrantAccess, GrantLogins, type GrantRefusal, refusalText } from './grants/grant-logins.ts';

/** The answer of the chain to the credentials of a client. */
export type ChainResult =
  | { outcome: 'authenticated'; account: Account; identity: Identity }
  | { outcome: 'refused'; public?: PublicFailure | undefined }
  /** The secret is right, but the token or link is not valid now. This does not count as a guess. Only the holder learns the reason. */
  | { outcome: 'over'; reason: string }
  /** Refused, because no method could check the credentials. This does not count as a guess. */
  | { outcome: 'unanswered' };

/** User name that a client sends with a token if it does not name the token's account. */
export const tokenUserName = 'token';

const failedMethod = `The authentication method failed; see its event ${eventIds.componentStopped}.`;

interface Question {
  username: string;
  peer: Credentials['peer'];
  request?: RequestTrace | undefined;
}

/** Asks the methods of a service one after the other until one of them accepts or rejects (docs/spec/authentication.md#chain). */
export class AuthChain {
  readonly #methods: readonly AuthMethod[];
  readonly #groups: ReadonlyMap<string, GroupConfiguration>;
  readonly #events: EventDispatcher;
  readonly #service: EventComponent;
  /** Undefined if the service accepts neither tokens nor links. */
  readonly #grants: GrantLogins | undefined;
  /**
   * Accounts by their configuration. The entries are always current, because a reload creates a new chain, and a change of the accounts
   * file creates new configurations.
   */
  readonly #accounts = new WeakMap<AccountConfiguration, Account>();
  /** Accounts whose home folder was prepared in this turn of the event loop. */
  readonly #prepared = new Set<Account>();
  /** Accounts whose home folder was prepared at least once, with or without success. */
  readonly #welcomed = new WeakSet<Account>();

  /**
   * @param service the component that is named in the events of the chain
   * @param grants the tokens and links; if undefined, none are accepted
   */
  constructor(
    methods: readonly AuthMethod[],
    groups: ReadonlyMap<string, GroupConfiguration>,
    events: EventDispatcher,
    service: EventComponent,
    grants?: GrantAccess,
  ) {
    this.#grants = grants && new GrantLogins(grants, events, service.uuid);
    this.#methods = methods;
    this.#groups = groups;
    this.#events = events;
    this.#service = service;
  }

  /** The maximum time for an answer, in milliseconds. */
  get longestAnswerMs(): number {
    return this.#methods.reduce((sumMs, method) => sumMs + method.longestAnswerMs, 0);
  }

  /** Whether the service asks the method of an account, and the method supports tokens and links of this account. */
  takesGrants({ name, method: { uuid, type } }: Pick<Account, 'name' | 'method'>): boolean {
    const method = this.#methods.find((candidate) => candidate.uuid === uuid && candidate.type === type);
    return method?.tokenConfiguration?.(name, {}) !== undefined;
  }

  /** Whether a client that offers a key should sign with this key: a method knows the key, or could accept any key. */
  mayAcceptKey(username: string, key: string): boolean {
    if (!isUserName(username)) return false;
    return this.#methods.some((method) => method.state !== 'stopped' && (method.listsKey?.(username, key) ?? true));
  }

  /** Checks the credentials that a client presented. A refusal is a result, not an exception. */
  async authenticate(credentials: Credentials): Promise<ChainResult> {
    if (!areAskable(credentials)) return this.#nobody(credentials, notAskable);
    // A password that has the form of a token is never passed to a method or compared with a password hash.
    if (credentials.type === 'password' && hasSecretForm(credentials.content)) return this.#authenticateToken(credentials);
    for (const method of this.#methods) {
      if (!this.#isAsked(method, credentials)) continue;
      if (method.state === 'failed') {
        return this.#rejected(method, credentials, failedMethod, 'unanswered');
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
   * Authenticates the holder of a token or link whose secret is right. Asks the method for the current state of the account.
   *
   * @param asked the address of the holder, and the service that received the request
   */
  async authenticateGrant(grant: Grant, asked: Pick<Credentials, 'peer' | 'creator' | 'request'>): Promise<ChainResult> {
    const { name: username, uuid } = grant.account;
    const { peer, creator, request } = asked;
    const question = { username, peer, creator, ...(request && { request }) };
    const refuse = (reason: NonNullable<GrantRefusal>, details?: string): ChainResult => {
      this.#grants?.tellRefusal(grant, reason, this.#contextOf(question), details);
      return { outcome: 'over', reason: refusalText(grant, reason) };
    };
    const grants = this.#grants;
    const refusal = grants?.whyRefused(grant, peer.address);
    if (refusal) return refuse(refusal);
    const method = this.#methods.find((candidate) => candidate.uuid === grant.method.uuid && candidate.type === grant.method.type);
    if (!grants || !method?.tokenConfiguration || method.state === 'stopped') return refuse('method');
    if (method.state === 'failed') return this.#rejected(method, question, failedMethod, 'unanswered');
    const result = await method.authenticate({ ...question, type: 'token', content: grant.id });
    if (result.outcome !== 'authenticated') {
      if (result.outcome === 'rejected' && result.kind === 'no-reply') return this.#rejected(method, question, result.reason, 'unanswered');
      return refuse('account', result.reason);
    }
    const accepted = this.#accept(method, question, result, grant);
    if (accepted.outcome !== 'authenticated') return refuse('account');
    if (accepted.account.uuid !== uuid) return refuse('account', 'The account has another UUID.');
    const account = grants.narrowed(accepted.account, grantName(grant), peer.address);
    if (!account) return refuse(grants.whyForbidden(grant, accepted.account) ?? 'revoked');
    grants.store.use(grant, peer.address);
    return { ...accepted, account };
  }

  /** Emits the event about a link that was refused because it has no downloads left. @returns the refusal as a sentence for the visitor */
  refuseUsedUp(link: Grant, context: EventContext): string {
    this.#grants?.tellRefusal(link, 'used-up', context);
    return refusalText(link, 'used-up');
  }

  /**
   * Returns the identity for a token that was accepted from the same address within the last minute. This is as fast as the lookup of a
   * session.
   *
   * @returns undefined for any other token, which `authenticate` must check
   * @throws ServiceError `unavailable` while the store cannot be reached
   */
  recallToken(secret: string, address: string): Promise<Identity | undefined> | Identity | undefined {
    const grants = this.#grants;
    if (!grants) return undefined;
    const hash = hashSecret(secret);
    const identity = grants.recall(hash, address);
    if (!identity) return undefined;
    const found = grants.store.find(hash);
    return found instanceof Promise ? found.then((grant) => grant && identity) : found && identity;
  }

  /**
   * Authenticates a request without any credentials.
   *
   * @returns undefined if no method accepts such requests
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
   * Returns the current account of a login, narrowed by its token or link. This is fast if nothing has changed.
   *
   * @param address the client's address, to check tokens that are limited to some addresses
   * @returns undefined if the login would fail now: the account or its group was deleted or disabled, the credential has changed or ended,
   *   or the service no longer asks the method
   */
  inForce(identity: Identity, address?: string): Account | undefined {
    const { uuid, type } = identity.method;
    const method = this.#methods.find((candidate) => candidate.uuid === uuid);
    if (!method || method.type !== type || method.state === 'stopped') return undefined;
    const { grant } = identity;
    const configuration = grant === undefined ? method.currentConfiguration(identity) : this.#grants?.configurationOf(method, identity);
    if (!configuration) return undefined;
    try {
      const account = this.#effectiveAccount(identity.name, configuration, method);
      if (account.uuid !== identity.uuid) return undefined;
      return grant === undefined ? account : this.#grants?.narrowed(account, grant, address);
    } catch (error) {
      if (error instanceof AccountError) return undefined;
      throw error;
    }
  }

  /** Prepares the home folder of an account that has changed since the login. If that fails, an event is emitted, but no session ends. */
  welcome(account: Account, peer: Credentials['peer'], request?: RequestTrace): void {
    if (this.#welcomed.has(account)) return;
    const method = this.#methods.find(({ uuid }) => uuid === account.method.uuid);
    if (method) this.#prepareTold(account, method, { username: account.name, peer, request });
  }

  async #authenticateToken(credentials: Credentials): Promise<ChainResult> {
    const { username, content, peer } = credentials;
    const read = readSecret(content);
    if (read === undefined || read === 'mistyped') return this.#nobody(credentials, 'The checksum of the token is wrong.');
    const grant = read.kind === 'token' ? await this.#grants?.store.find(read.hash) : undefined;
    if (!grant) return this.#nobody(credentials, 'No token has this secret.');
    if (username !== tokenUserName && username !== grant.account.name) {
      this.#grants?.tellRefusal(grant, 'name', this.#contextOf(credentials));
      return { outcome: 'over', reason: refusalText(grant, 'name') };
    }
    const result = await this.authenticateGrant(grant, credentials);
    if (result.outcome === 'authenticated') this.#grants?.remember(read.hash, peer.address, result.identity);
    return result;
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
    grant?: Grant,
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
        ...(grant && grantName(grant)),
      },
      data: methodData(method),
    });
    // An endpoint sends the configuration only at the login, so the configuration is kept. Methods with local accounts can be asked again.
    const { uuid, type } = method;
    const kept = grant ? { grant: grantName(grant), ...(type === 'http' && { configuration }) } : proof ? { proof } : { configuration };
    return { outcome: 'authenticated', account, identity: { name: account.name, uuid: account.uuid, method: { uuid, type }, ...kept } };
  }

  /**
   * Prepares the home folder. Emits `homeFolderCreated` if it creates a folder, `homeFolderUnavailable` if it fails.
   *
   * @returns the reason of a failure
   */
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

  // If several clients log in to an account in the same turn of the event loop, the folder is checked only once.
  #prepare(account: Account, onUnsynced: (fault: unknown) => void): string[] {
    if (this.#prepared.has(account)) return [];
    const created = prepareHomeFolder(account, onUnsynced);
    if (this.#prepared.size === 0) setImmediate(() => this.#prepared.clear());
    this.#prepared.add(account);
    return created;
  }

  // Clients with Basic authentication log in with each request, so the account of a configuration is built only once.
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

/** Returns an account in the form that events contain (docs/spec/events.md#account). */
export function eventAccount(account: NamedAccount, peer: Credentials['peer']): EventAccount {
  const known = eventAccounts.get(peer);
  if (known?.account === account) return known.shown;
  const emails = emailAddresses(account.email).map(({ name, address }): [string, string] => [name, address]);
  const email = emails[0] && { email: emails[0][1], emails };
  const shown = { uuid: account.uuid, name: account.name, ...email, peer };
  eventAccounts.set(peer, { account, shown });
  return shown;
}

/** The last account of each connection. It is kept, because most connections serve many requests of one account. */
const eventAccounts = new WeakMap<Credentials['peer'], { account: NamedAccount; shown: EventAccount }>();
