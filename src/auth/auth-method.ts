import type { AccountConfiguration } from '../accounts/account.ts';
import type { eventIds } from '../events/event-ids.ts';
import type { Credentials, Identity, Proof } from './credentials.ts';

/** The part of a refusal that clients see when the service has `public_error` (docs/spec/authentication.md#refusal-by-the-endpoint). */
export interface PublicFailure {
  message?: string;
  public_response?: unknown;
}

/** A method's answer (docs/spec/authentication.md#callout-outcome). */
export type AuthResult =
  | { outcome: 'authenticated'; account: AccountConfiguration; proof?: Proof }
  /** Unknown to this method; the next method of the chain is asked. */
  | { outcome: 'next'; reason: string }
  /** The whole authentication fails; no other method is asked. */
  | {
      outcome: 'rejected';
      reason: string;
      /**
       * `forbidden` when the method itself refused (event `authenticationForbidden`); `no-reply` and `invalid` for any other reason (event
       * `authenticationRejected`).
       */
      kind: 'forbidden' | 'invalid' | 'no-reply';
      /**
       * Errors in the account configuration of an accepting answer; event `accountConfigurationUnknownKeys` or `accountConfigurationBad` is
       * emitted, too.
       */
      configurationFault?: {
        event: typeof eventIds.accountConfigurationBad | typeof eventIds.accountConfigurationUnknownKeys;
        details: unknown;
      };
      /** Members of a failure body, for event `authenticationForbidden`'s `data.response`. */
      response?: unknown;
      public?: PublicFailure;
    };

/**
 * `running`; `stopped` by an administrator: it is skipped; `failed`: every login that reaches it is rejected
 * (docs/spec/authentication.md#chain: fail closed).
 */
export type MethodState = 'running' | 'stopped' | 'failed';

/** One way to find out who a client is. */
export interface AuthMethod {
  readonly uuid: string;
  readonly name: string;
  /** `application`, `anonymous` or `http`. */
  readonly type: string;
  readonly state: MethodState;
  /** The current fault, for people; undefined without one. */
  readonly fault?: string | undefined;
  /** Longest time that an answer takes, in milliseconds. */
  readonly longestAnswerMs: number;
  /** Starts the method; a failure is a state, not an exception. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Answers for one client. Never throws for a refusal. */
  authenticate(credentials: Credentials): Promise<AuthResult>;
  /** The present configuration of an account that the method accepted; undefined when it would not accept the login now. */
  currentConfiguration(identity: Identity): AccountConfiguration | undefined;
  /**
   * The present configuration of an account that a token or link belongs to; undefined where the account is gone or disabled, or the method
   * takes no tokens. A method without this never does.
   *
   * @param configuration the method's reply when it was asked about the token (`authenticate` with `type` `token`)
   */
  tokenConfiguration?(username: string, configuration: AccountConfiguration | undefined): AccountConfiguration | undefined;
  /** Whether an account has a key, where no remote endpoint decides; a method without this may accept any key. */
  listsKey?(username: string, key: string): boolean;
  /** The account for requests without credentials, if the method has one (`anonymous`). */
  authenticateWithoutCredentials?(): { username: string; account: AccountConfiguration };
}
