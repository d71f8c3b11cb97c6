import keyParser from 'ssh2/lib/protocol/keyParser.js';
import type Server from 'ssh2/lib/server.js';
import type { Account } from '../accounts/account.ts';
import type { CredentialKind } from '../accounts/credential-kinds.ts';
import type { AuthChain, ChainResult } from '../auth/auth-chain.ts';
import { refusalError } from '../auth/ban-list.ts';
import type { Credentials, Identity } from '../auth/credentials.ts';
import { eventIds } from '../events/event-ids.ts';
import { isServiceError } from '../lib/errors.ts';
import { hasSecretForm, maskSecrets } from '../lib/secrets.ts';
import { reportBanned } from './connection/admission.ts';
import { publicKeyFault } from './public-keys.ts';
import { isEnough, methodsOffered, sufficiency } from './required-credentials.ts';
import { type ConnectionOrigin, eventContext } from './ssh-service.ts';

/** A key that a client offers, and its signature. */
interface PresentedKey {
  /** Name of the algorithm. It is `ssh-rsa` for all RSA algorithms; `hash` distinguishes them. */
  algorithm: string;
  blob: Buffer;
  hash: string | undefined;
  /** Undefined while the client only asks whether the key would be accepted. */
  signature: Buffer | undefined;
  /** The signed bytes, which are the session ID and the request. */
  signed: Buffer | undefined;
}

/** Checks a client's key, and its signature if there is one. @returns the reason for the refusal; undefined for a valid key */
export function keyFault({ algorithm, blob, hash, signature, signed }: PresentedKey): string | undefined {
  if (algorithm === 'ssh-rsa' && hash === undefined) return 'Signatures with SHA-1 are refused.';
  const fault = publicKeyFault(blob);
  if (fault !== undefined) return fault;
  const parsed = keyParser.parseKey(blob);
  const key = Array.isArray(parsed) ? parsed[0] : parsed;
  // The key is refused unless it serialises to exactly the bytes that the client sent.
  if (!key || key instanceof Error || key.isPrivateKey() || !key.getPublicSSH().equals(blob)) return 'The key cannot be read.';
  if (key.type !== algorithm) return 'The key is not of the type that was announced.';
  if (!signature) return undefined;
  return signed && key.verify(signed, signature, hash) === true ? undefined : 'The signature is not right.';
}

/** Maximum number of requests of one connection that try no credential: `none`, keys without a signature, and repeated service requests. */
const maxQuestions = 100;

/** The parts of a connection that its login needs. */
export interface LoginConnection extends ConnectionOrigin {
  /** Shows a text to the user. */
  tell(text: string): void;
  /** Ends the connection, so that the client cannot try again on it. */
  giveUp(reason: string): void;
  /** Begins the session of an authenticated client. @returns the reason if the session is refused; otherwise undefined */
  admit(account: Account, identity: Identity): Promise<string | undefined>;
  /** Whether the connection has ended. If so, no answer can be sent. */
  readonly isEnded: boolean;
}

/**
 * The answer to one login request. `question` accepts a key that was sent without a signature. `partial` asks for a second credential. A
 * refusal is `tried` if it counts as an attempt, `asked` if the client tried no credential, and `over` if the connection ends.
 */
type Answer = 'granted' | 'question' | { refused: 'tried' | 'asked' | 'over'; told?: string } | { partial: string[] };

interface Accepted {
  kind: CredentialKind;
  account: Account;
  identity: Identity;
}

/** Authenticates a client: handles the login requests of one connection, one after the other (RFC 4252). */
export class Login {
  readonly #connection: LoginConnection;
  #username: string | undefined;
  #tries = 0;
  #questions = 0;
  /** The accepted credentials. A login needs one or two. */
  readonly #accepted: Accepted[] = [];
  #isGranted = false;
  /**
   * An unknown key that was tried, and whether an event has reported it. All unknown keys of a connection together count as one failed
   * attempt. The attempt is counted when the connection ends.
   */
  #unknownKey: { content: string; isTold: boolean } | undefined;
  #last: Promise<void> = Promise.resolve();
  #asking = 0;

  constructor(connection: LoginConnection) {
    this.#connection = connection;
  }

  /** Whether a method of the authentication chain is being asked now. */
  get isBusy(): boolean {
    return this.#asking > 0;
  }

  /** The account at the time of the login; undefined until the login has succeeded. */
  get granted(): Account | undefined {
    return this.#isGranted ? this.#accepted.at(-1)?.account : undefined;
  }

  /**
   * Returns the current account of the login; undefined if one of the credentials is no longer valid, or if more credentials are now
   * required.
   */
  inForce(chain: AuthChain): Account | undefined {
    const { address } = this.#connection.peer;
    const accounts = this.#accepted.map(({ identity }) => chain.inForce(identity, address));
    const account = accounts.at(-1);
    if (!this.#isGranted || !account || accounts.includes(undefined)) return undefined;
    const kinds = this.#accepted.map(({ kind }) => kind);
    return isEnough(account.requiredCredentials, kinds) ? account : undefined;
  }

  /** Answers a login request. @param onFault called with unexpected errors */
  handle(context: Server.AuthContext, onFault: (error: unknown) => void): void {
    this.#last = this.#last
      .then(() => this.#handle(context))
      .catch((error) => {
        // Logins are refused while the shared state is unreachable.
        if (isServiceError(error, 'unavailable')) this.#connection.giveUp(error.message);
        else onFault(error);
      });
  }

  /** Counts a repeated service request, which some clients send before each attempt. */
  askedAgain(): void {
    this.#asked();
  }

  async end(): Promise<void> {
    const { service, peer } = this.#connection;
    const username = this.#username;
    if (this.#isGranted || this.#unknownKey === undefined || username === undefined) return;
    if (!this.#unknownKey.isTold) {
      this.#emit(eventIds.credentialsNotAccepted, { username, details: 'No account of this name has the key.' });
    }
    const credentials = { type: 'ssh-key', username, content: this.#unknownKey.content, address: peer.address } as const;
    const attempt = await service.attempts.begin(credentials, service.chain.longestAnswerMs);
    if (attempt.kind === 'admitted') await attempt.end('failed');
  }

  async #handle(context: Server.AuthContext): Promise<void> {
    const { service } = this.#connection;
    const answer = await this.#answer(context);
    // The login must be in the journal before the client learns of it.
    if (answer === 'granted') await service.events.grouped();
    if (this.#connection.isEnded) return;
    if (answer === 'granted' || answer === 'question') {
      context.accept();
    } else if ('partial' in answer) {
      context.reject(answer.partial, true);
    } else {
      if (answer.refused === 'tried') this.#tries++;
      if (answer.told !== undefined) this.#connection.tell(`${answer.told}\r\n`);
      if (answer.refused === 'over') this.#connection.giveUp(answer.told ?? '');
      else if (this.#tries >= service.options.max_auth_tries) this.#connection.giveUp('Too many attempts to log in.');
      else context.reject(this.#methodsLeft());
    }
  }

  async #answer(context: Server.AuthContext): Promise<Answer> {
    // A client can abandon a method during its check. Then the client does not learn that the method succeeded, and sends another request.
    if (this.#isGranted) {
      this.#connection.giveUp('The client tried to log in again after it had logged in.');
      return { refused: 'asked' };
    }
    // Events contain the user name. Some clients send their token as the user name, so tokens are masked.
    const username = maskSecrets(context.username);
    if (this.#username !== undefined && username !== this.#username) {
      this.#connection.giveUp('The client changed the user name during the login.');
      return { refused: 'asked' };
    }
    this.#username = username;
    if (!this.#methodsLeft().includes(context.method)) return this.#asked();
    switch (context.method) {
      case 'password': {
        const { password } = context as Server.PasswordContext;
        // If `password` is not a string, the client asks to change its password, which the service does not offer.
        return typeof password === 'string' ? this.#try('password', password) : { refused: 'tried' };
      }
      case 'keyboard-interactive': {
        const password = await promptPassword(context as Server.KeyboardContext);
        return password === undefined ? { refused: 'tried' } : this.#try('password', password);
      }
      case 'publickey':
        return this.#tryKey(context as Server.KeyContext);
      default:
        return this.#asked();
    }
  }

  async #tryKey({ key, hashAlgo, signature, blob }: Server.KeyContext): Promise<Answer> {
    const { service } = this.#connection;
    const content = key.data.toString('base64');
    const fault = keyFault({ algorithm: key.algo, blob: key.data, hash: hashAlgo, signature, signed: blob });
    if (fault !== undefined) {
      service.log.debug('a key was refused', { service: service.uuid, connection: this.#connection.trace.id, reason: fault });
      return { refused: 'tried' };
    }
    if (signature) return this.#try('ssh-key', content);
    if (service.chain.mayAcceptKey(this.#username ?? '', content)) return this.#asked() && 'question';
    this.#unknownKey ??= { content, isTold: false };
    return { refused: 'tried' };
  }

  async #try(kind: CredentialKind, content: string): Promise<Answer> {
    const result = await this.#ask(kind, content);
    if (result.outcome !== 'authenticated') {
      if (result.outcome === 'unanswered') return { refused: 'tried' };
      if (result.outcome === 'over') return { refused: 'tried', told: result.reason };
      if (kind === 'ssh-key') this.#unknownKey = { content, isTold: true };
      const told = this.#connection.service.options.public_error ? result.public?.message : undefined;
      return { refused: 'tried', ...(told === undefined ? {} : { told }) };
    }
    const { account, identity } = result;
    const verdict = sufficiency(account.requiredCredentials, kind, this.#first?.kind);
    const accepted = { kind, account, identity };
    if (verdict === 'wrong-kind') {
      this.#reportWrongKind(account);
      return { refused: 'tried' };
    }
    if (verdict === 'first-of-two') {
      this.#accepted.push(accepted);
      this.#emit(eventIds.firstCredentialAccepted, { credentials: kind }, account);
      return { partial: this.#methodsLeft() };
    }
    if (this.#first && this.#first.account.uuid !== account.uuid) return { refused: 'tried' };
    const fault = await this.#connection.admit(account, identity);
    if (fault !== undefined) return { refused: 'over', told: fault };
    this.#accepted.push(accepted);
    this.#isGranted = true;
    return 'granted';
  }

  /** Asks the authentication chain, unless there were too many failed attempts from this address or for this name. */
  async #ask(type: CredentialKind, content: string): Promise<ChainResult> {
    const { service, peer, trace } = this.#connection;
    const username = this.#username ?? '';
    const credentials: Credentials = {
      type,
      username,
      content,
      peer,
      creator: { uuid: service.uuid, type: service.component.type },
      request: trace,
    };
    const check = (isKnown: boolean) => {
      this.#asking++;
      return service.chain.authenticate({ ...credentials, isKnown }).finally(() => this.#asking--);
    };
    const attemptOutcome = ({ outcome }: ChainResult) => {
      if (outcome === 'authenticated') return 'succeeded';
      // An agent offers all of its keys. So all unknown keys together count as one attempt (`#unknownKey`).
      return outcome === 'refused' && type === 'password' ? 'failed' : 'unknown';
    };
    // A guessed token must not count against the account whose name was sent with it.
    const isToken = type === 'password' && hasSecretForm(content);
    const attempt = { type, username: isToken ? '' : username, content, address: peer.address };
    const counted = await service.attempts.counted(attempt, service.chain.longestAnswerMs, check, attemptOutcome);
    if (counted.kind === 'checked') return counted.result;
    reportBanned(this.#connection, counted, username);
    this.#connection.giveUp(refusalError(counted).message);
    return { outcome: 'unanswered' };
  }

  /** The first of two credentials; undefined until it was accepted. */
  get #first(): Accepted | undefined {
    return this.#accepted[0];
  }

  #methodsLeft(): string[] {
    return methodsOffered(this.#connection.service.requiredCredentials, this.#first?.kind);
  }

  #asked(): Answer {
    if (++this.#questions > maxQuestions) this.#connection.giveUp('Too many login requests without a credential.');
    return { refused: 'asked' };
  }

  #reportWrongKind(account: Account): void {
    const { uuid, type } = account.method;
    const details = `The group "${account.groupUuid}" requires ${account.requiredCredentials}.`;
    const data = { username: account.name, method_uuid: uuid, method_name: uuid, method_type: type, details };
    this.#emit(eventIds.authenticationRejected, data, account);
  }

  #emit(id: number, data: Record<string, unknown>, account?: Account): void {
    this.#connection.service.events.emit({ id, context: eventContext(this.#connection, account), data });
  }
}

/** Asks the client for a password. @returns the password; undefined if the client abandoned the prompt or did not give one answer */
function promptPassword(context: Server.KeyboardContext): Promise<string | undefined> {
  return new Promise((resolve) => {
    // The client sent another request instead of an answer.
    context.on('abort', () => resolve(undefined));
    context.prompt([{ prompt: 'Password: ', echo: false }], '', '', (responses) => {
      resolve(Array.isArray(responses) && responses.length === 1 ? String(responses[0]) : undefined);
    });
  });
}
