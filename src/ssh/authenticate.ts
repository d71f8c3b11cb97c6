import keyParser from 'ssh2/lib/protocol/keyParser.js';
import type Server from 'ssh2/lib/server.js';
import type { Account } from '../accounts/account.ts';
import type { CredentialKind } from '../accounts/credential-kinds.ts';
import type { AuthChain, ChainResult } from '../auth/auth-chain.ts';
import { refusalError } from '../auth/ban-list.ts';
import type { Credentials, Identity } from '../auth/credentials.ts';
import { eventIds } from '../events/event-ids.ts';
import { isServiceError } from '../lib/errors.ts';
import { noteBanned } from './connection/admission.ts';
import { publicKeyFault } from './public-keys.ts';
import { isEnough, methodsOffered, sufficiency } from './required-credentials.ts';
import { type ConnectionOrigin, contextOf } from './ssh-service.ts';

/** What a client presents: a key, how it signs, and the signature where it does so already. */
interface PresentedKey {
  /** Name of the algorithm, `ssh-rsa` for all kinds of RSA. */
  algorithm: string;
  blob: Buffer;
  hash: string | undefined;
  signature: Buffer | undefined;
  /** What is signed: the session, and the request. */
  signed: Buffer | undefined;
}

/**
 * Looks at a client's key, and verifies its signature where there is one.
 *
 * @returns why it is refused; undefined when all is well
 */
export function keyFault({ algorithm, blob, hash, signature, signed }: PresentedKey): string | undefined {
  if (algorithm === 'ssh-rsa' && hash === undefined) return 'Signatures with SHA-1 are refused.';
  const fault = publicKeyFault(blob);
  if (fault !== undefined) return fault;
  const parsed = keyParser.parseKey(blob);
  const key = Array.isArray(parsed) ? parsed[0] : parsed;
  // What is read as a key in another form than the one that was signed for is not the key that was presented.
  if (!key || key instanceof Error || key.isPrivateKey() || !key.getPublicSSH().equals(blob)) return 'The key cannot be read.';
  if (key.type !== algorithm) return 'The key is not of the type that was announced.';
  if (!signature) return undefined;
  return signed && key.verify(signed, signature, hash) === true ? undefined : 'The signature is not right.';
}

/** Requests of a connection that try nothing (`none`, keys without a signature, the service asked for again), at most. */
const maxQuestions = 100;

/** What the connection does for a login. */
export interface LoginConnection extends ConnectionOrigin {
  /** Shows a text to whoever logs in. */
  tell(text: string): void;
  /** Ends the connection: nothing more is tried. */
  giveUp(reason: string): void;
  /**
   * Makes room for a client that has proved who it is.
   *
   * @returns why there is none
   */
  admit(account: Account, identity: Identity): Promise<string | undefined>;
  /** Whether nothing can be answered any more. */
  readonly isEnded: boolean;
}

/** The answer to one request. */
type Answer = 'granted' | 'question' | { refused: 'tried' | 'asked' | 'over'; told?: string } | { partial: string[] };

/** A credential that was accepted. */
interface Accepted {
  kind: CredentialKind;
  account: Account;
  identity: Identity;
}

/** Who has logged in, by all that it took. */
export class Granted {
  readonly #accepted: readonly Accepted[];

  /** @param accepted one credential, or two */
  constructor(...accepted: readonly [...Accepted[], Accepted]) {
    this.#accepted = accepted;
  }

  /** The account as it was at the login. */
  get account(): Account {
    return (this.#accepted.at(-1) as Accepted).account;
  }

  /** The account as it is by the chain in force; undefined when one of the credentials holds no more, or they are too few by now. */
  inForce(chain: AuthChain): Account | undefined {
    let account: Account | undefined;
    for (const { identity } of this.#accepted) {
      account = chain.inForce(identity);
      if (!account) return undefined;
    }
    const kinds = this.#accepted.map(({ kind }) => kind);
    return account && isEnough(account.requiredCredentials, kinds) ? account : undefined;
  }
}

/** Finds out who a client is: every request for a login of one connection, one after the other (design: RFC 4252). */
export class Login {
  readonly #connection: LoginConnection;
  #username: string | undefined;
  #tries = 0;
  #questions = 0;
  /** The first of two credentials. */
  #first: Accepted | undefined;
  /** One of the keys that nobody knew: they count once, when the connection ends. */
  #unknownKey: { content: string; isTold: boolean } | undefined;
  #granted: Granted | undefined;
  #last: Promise<void> = Promise.resolve();
  #asking = 0;

  constructor(connection: LoginConnection) {
    this.#connection = connection;
  }

  /** Whether an authentication method is being asked at present. */
  get isBusy(): boolean {
    return this.#asking > 0;
  }

  /** Whom the client may log in as, from the moment that it is told so. */
  get granted(): Granted | undefined {
    return this.#granted;
  }

  /** Answers a request. @param onFault told of what goes wrong in the program */
  handle(context: Server.AuthContext, onFault: (error: unknown) => void): void {
    this.#last = this.#last
      .then(() => this.#handle(context))
      .catch((error) => {
        // The state that nodes share is away: nobody can be let in.
        if (isServiceError(error, 'unavailable')) this.#connection.giveUp(error.message);
        else onFault(error);
      });
  }

  /** The client asks whether it may log in, as some do before each try. */
  askedAgain(): void {
    this.#asked();
  }

  /** The connection ended. */
  async end(): Promise<void> {
    const { service, peer } = this.#connection;
    if (this.#granted || this.#unknownKey === undefined || this.#username === undefined) return;
    const username = this.#username;
    if (!this.#unknownKey.isTold) {
      const data = { username, details: 'No account of this name has the key.' };
      service.events.emit({ id: eventIds.credentialsNotAccepted, context: contextOf(this.#connection), data });
    }
    const credentials = { type: 'ssh-key', username, content: this.#unknownKey.content, address: peer.address } as const;
    const attempt = await service.attempts.begin(credentials, service.chain.longestAnswerMs);
    if (attempt.kind === 'admitted') await attempt.end('failed');
  }

  async #handle(context: Server.AuthContext): Promise<void> {
    const { service } = this.#connection;
    const answer = await this.#answer(context);
    // Whatever comes next, the login is in the journal.
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
    // A client may leave a method while it is being asked about: what was granted then was granted to nobody.
    if (this.#granted) {
      this.#connection.giveUp('The client asked again when it had logged in.');
      return { refused: 'asked' };
    }
    if (this.#username !== undefined && context.username !== this.#username) {
      this.#connection.giveUp('The client named another user.');
      return { refused: 'asked' };
    }
    this.#username = context.username;
    if (!this.#methodsLeft().includes(context.method)) return this.#asked();
    switch (context.method) {
      case 'password': {
        const { password } = context as Server.PasswordContext;
        // A change of the password is not offered.
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
      if (kind === 'ssh-key') this.#unknownKey = { content, isTold: true };
      const told = this.#connection.service.options.public_error ? result.public?.message : undefined;
      return { refused: 'tried', ...(told === undefined ? {} : { told }) };
    }
    const { account, identity } = result;
    const verdict = sufficiency(account.requiredCredentials, kind, this.#first?.kind);
    if (verdict === 'wrong-kind') {
      this.#noteWrongKind(account);
      return { refused: 'tried' };
    }
    if (verdict === 'first-of-two') {
      this.#first = { kind, account, identity };
      this.#connection.service.events.emit({
        id: eventIds.firstCredentialAccepted,
        context: contextOf(this.#connection, account),
        data: { credentials: kind },
      });
      return { partial: this.#methodsLeft() };
    }
    if (this.#first && this.#first.account.uuid !== account.uuid) return { refused: 'tried' };
    const fault = await this.#connection.admit(account, identity);
    if (fault !== undefined) return { refused: 'over', told: fault };
    const last = { kind, account, identity };
    this.#granted = this.#first ? new Granted(this.#first, last) : new Granted(last);
    return 'granted';
  }

  /** Asks the chain, as often as the security policy lets the address and the name be guessed at. */
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
    const outcomeOf = ({ outcome }: ChainResult) => {
      if (outcome === 'authenticated') return 'succeeded';
      // An agent offers all the keys it has: those that nobody knows count once, when the connection ends.
      return outcome === 'refused' && type === 'password' ? 'failed' : 'unknown';
    };
    const attempt = { type, username, content, address: peer.address };
    const counted = await service.attempts.counted(attempt, service.chain.longestAnswerMs, check, outcomeOf);
    if (counted.kind === 'checked') return counted.result;
    noteBanned(this.#connection, counted, username);
    this.#connection.giveUp(refusalError(counted).message);
    return { outcome: 'unanswered' };
  }

  /** Methods that can still succeed. */
  #methodsLeft(): string[] {
    return methodsOffered(this.#connection.service.requiredCredentials, this.#first?.kind);
  }

  #asked(): Answer {
    if (++this.#questions > maxQuestions) this.#connection.giveUp('Too many requests without a try.');
    return { refused: 'asked' };
  }

  #noteWrongKind(account: Account): void {
    const { service } = this.#connection;
    service.events.emit({
      id: eventIds.authenticationRejected,
      context: contextOf(this.#connection, account),
      data: {
        username: account.name,
        method_uuid: account.method.uuid,
        method_name: account.method.uuid,
        method_type: account.method.type,
        details: `The group "${account.groupUuid}" requires ${account.requiredCredentials}.`,
      },
    });
  }
}

/** @returns undefined when the client gave it up */
function promptPassword(context: Server.KeyboardContext): Promise<string | undefined> {
  return new Promise((resolve) => {
    // It asks for something else instead.
    context.on('abort', () => resolve(undefined));
    context.prompt([{ prompt: 'Password: ', echo: false }], '', '', (responses) => {
      resolve(Array.isArray(responses) && responses.length === 1 ? String(responses[0]) : undefined);
    });
  });
}
