import type { AccountConfiguration } from '../accounts/account.ts';
import type { AuthMethod, AuthResult, MethodState } from './auth-method.ts';

/** Account name of requests without credentials (docs/spec/authentication.md#anonymous-access). */
export const anonymousName = 'anonymous';

/** Lets in requests without credentials as a member of one group, for public folders. */
export class AnonymousMethod implements AuthMethod {
  readonly type = 'anonymous';
  readonly longestAnswerMs = 0;
  readonly uuid: string;
  readonly name: string;
  readonly #account: AccountConfiguration;
  state: MethodState = 'stopped';

  constructor(options: { uuid: string; name: string; group: string }) {
    this.uuid = options.uuid;
    this.name = options.name;
    this.#account = { group: options.group };
  }

  async start(): Promise<void> {
    this.state = 'running';
  }

  async stop(): Promise<void> {
    this.state = 'stopped';
  }

  async authenticate(): Promise<AuthResult> {
    return { outcome: 'next', reason: 'This method takes requests without credentials only.' };
  }

  listsKey(): boolean {
    return false;
  }

  configurationOf(): AccountConfiguration {
    return this.#account;
  }

  authenticateWithoutCredentials() {
    return { username: anonymousName, account: this.#account };
  }
}
