import type { AccountConfiguration, LocalAccountOptions } from '../accounts/account.ts';
import { AccountsFile } from '../accounts/accounts-file.ts';
import type { PasswordVerifier } from '../accounts/passwords.ts';
import { ApplicationMethod } from './application.ts';
import type { AuthMethod, AuthResult, MethodState } from './auth-method.ts';
import { type CalloutDependencies, CalloutMethod } from './callout.ts';
import { type AuthenticationOptions, accountsFilePath } from './options.ts';

/** Account name of requests without credentials (docs/spec/authentication.md#anonymous-access). */
const anonymousName = 'anonymous';

/** Lets in requests without credentials as a member of one group, for public folders. */
class AnonymousMethod implements AuthMethod {
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

  currentConfiguration(): AccountConfiguration {
    return this.#account;
  }

  authenticateWithoutCredentials() {
    return { username: anonymousName, account: this.#account };
  }
}

/** What authentication methods are made of. */
export interface MethodDependencies extends CalloutDependencies {
  /** `accounts` of the configuration. */
  accounts: Readonly<Record<string, LocalAccountOptions>>;
  dataFolderPath: string;
  passwords: PasswordVerifier;
  /** Has other processes look at an accounts file that was written. */
  onAccountsWritten?: () => Promise<void>;
  /** Told when the accounts of a file are others than before. */
  onAccountsChanged?: () => void;
}

/**
 * Makes an authentication method of its options.
 *
 * @throws ServiceError `unavailable` when its accounts file or its CA file cannot be used
 */
export function createAuthMethod(uuid: string, options: AuthenticationOptions, dependencies: MethodDependencies): AuthMethod {
  const name = options.name || uuid;
  switch (options.type) {
    case 'application': {
      const path = accountsFilePath(options, dependencies.dataFolderPath);
      const { clock, log, onAccountsWritten: onWrite, onAccountsChanged: onChange } = dependencies;
      const accounts = new AccountsFile(path, dependencies.accounts, clock, log, { onWrite, onChange });
      return new ApplicationMethod({ uuid, name, accounts, passwords: dependencies.passwords });
    }
    case 'anonymous':
      return new AnonymousMethod({ uuid, name, group: options.group });
    case 'http':
      return new CalloutMethod(uuid, options, dependencies);
    default:
      return options satisfies never;
  }
}
