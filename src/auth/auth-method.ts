import type { AccountConfiguration } from '../accounts/account.ts';
import type { eventIds } from '../events/event-ids.ts';
import type { Failure, Fault } from '../lib/remote/remote-endpoint.ts';
import type { Credentials, Identity, Proof } from './credentials.ts';

/**
 * The part of a refusal that clients see if the service's option `public_error` is on
 * (docs/spec/authentication.md#refusal-by-the-endpoint).
 */
export interface PublicFailure {
  message?: string;
  public_response?: unknown;
}

/** The answer of a method (docs/spec/authentication.md#callout-outcome). */
export type AuthResult =
  | { outcome: 'authenticated'; account: AccountConfiguration; proof?: Proof }
  /** The method does not know the credentials. The next method of the chain is asked. */
  | { outcome: 'next'; reason: string }
  /** The authentication fails as a whole. No other method is asked. */
  | {
      outcome: 'rejected';
      reason: string;
      /** The reason as a code; undefined if there is no code for it. */
      fault?: Fault;
      /**
       * `forbidden` if the method itself refused the client (event `authenticationForbidden`). `no-reply` or `invalid` for any other reason
       * (event `authenticationRejected`).
       */
      kind: 'forbidden' | 'invalid' | 'no-reply';
      /**
       * Errors in the account configuration of a reply that would otherwise accept the client. They also cause the event
       * `accountConfigurationUnknownKeys` or `accountConfigurationBad`.
       */
      configurationFault?: {
        event: typeof eventIds.accountConfigurationBad | typeof eventIds.accountConfigurationUnknownKeys;
        details: unknown;
      };
      /** Members of the body of a refusal, for `data.response` of event `authenticationForbidden`. */
      response?: unknown;
      public?: PublicFailure;
    };

/**
 * The state of a method. The chain skips a method that is `stopped`, such as a disabled one. If a method has `failed`, the chain fails
 * closed: it rejects every login that reaches this method (docs/spec/authentication.md#chain).
 */
export type MethodState = 'running' | 'stopped' | 'failed';

/** A way to find out who a client is. */
export interface AuthMethod {
  readonly uuid: string;
  readonly name: string;
  /** `application`, `anonymous` or `http`. */
  readonly type: string;
  readonly state: MethodState;
  /** The current fault; undefined if there is none. */
  readonly fault?: Failure | undefined;
  /** Maximum time for an answer, in milliseconds. */
  readonly longestAnswerMs: number;
  /** Starts the method. If that fails, `state` is `failed`, and nothing is thrown. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Checks the credentials of one client. A refusal is a result, not an exception. */
  authenticate(credentials: Credentials): Promise<AuthResult>;
  /** Returns the current configuration of an account that the method accepted; undefined if the method would not accept the login now. */
  currentConfiguration(identity: Identity): AccountConfiguration | undefined;
  /**
   * Returns the current configuration of the account of a token or link. Returns undefined if the account was deleted or disabled, or if
   * the method accepts no tokens. A method without this function accepts none.
   *
   * @param configuration the account that `authenticate` returned for credentials of the type `token`
   */
  tokenConfiguration?(username: string, configuration: AccountConfiguration | undefined): AccountConfiguration | undefined;
  /**
   * Whether an account has a key. Methods that ask a remote endpoint do not have this function, because the endpoint could accept any key.
   */
  listsKey?(username: string, key: string): boolean;
  /** The account for requests without credentials. Only the method `anonymous` has one. */
  authenticateWithoutCredentials?(): { username: string; account: AccountConfiguration };
}
