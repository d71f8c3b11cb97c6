import type { AccountConfiguration, LocalAccountOptions } from '../accounts/account.ts';
import { AccountsFile } from '../accounts/accounts-file.ts';
import type { PasswordVerifier } from '../accounts/passwords.ts';
import { ApplicationMethod } from './application.ts';
import type { AuthMethod, MethodState } from './auth-method.ts';
import { type CalloutDependencies, CalloutMethod } from './callout.ts';
import { HashReplacement } from './hash-replacement.ts';
import { type AuthenticationOptions, accountsFilePath } from './options.ts';

/** Account name of requests without credentials (docs/spec/authentication.md#anonymous-access). */
const anonymousName = 'anonymous';

/**
 * Creates a method that accepts requests without credentials, for public folders. All such requests act as one account, `anonymous`, which
 * belongs to the configured group.
 */
function createAnonymousMethod(uuid: string, name: string, account: AccountConfiguration): AuthMethod {
  let state: MethodState = 'stopped';
  return {
    uuid,
    name,
    type: 'anonymous',
    longestAnswerMs: 0,
    get state() {
      return state;
    },
    async start() {
      state = 'running';
    },
    async stop() {
      state = 'stopped';
    },
    authenticate: async () => ({ outcome: 'next', reason: 'This method accepts only requests without credentials.' }),
    listsKey: () => false,
    currentConfiguration: () => account,
    authenticateWithoutCredentials: () => ({ username: anonymousName, account }),
  };
}

export interface MethodDependencies extends CalloutDependencies {
  /** The option `accounts`. */
  accounts: Readonly<Record<string, LocalAccountOptions>>;
  dataFolderPath: string;
  passwords: PasswordVerifier;
  /** Whether other processes could use the same accounts files. */
  isAccountsFileShared: boolean;
  /** Called after the accounts of a file have changed. */
  onAccountsChanged?: () => void;
}

/**
 * Creates an authentication method from its options.
 *
 * @throws ServiceError `unavailable` if its accounts file or its CA file cannot be used
 */
export function createAuthMethod(uuid: string, options: AuthenticationOptions, dependencies: MethodDependencies): AuthMethod {
  const name = options.name || uuid;
  switch (options.type) {
    case 'application': {
      const path = accountsFilePath(options, dependencies.dataFolderPath);
      const { clock, log, isAccountsFileShared: isShared, onAccountsChanged: onChange } = dependencies;
      const accounts = new AccountsFile(path, dependencies.accounts, clock, log, { isShared, onChange });
      const replacement = options.replace_password_hashes ? new HashReplacement(accounts, clock, log) : undefined;
      return new ApplicationMethod({ uuid, name, accounts, passwords: dependencies.passwords, replacement });
    }
    case 'anonymous':
      return createAnonymousMethod(uuid, name, { group: options.group });
    case 'http':
      return new CalloutMethod(uuid, options, dependencies);
    default:
      return options satisfies never;
  }
}
