import { AccountsFile } from '../accounts/accounts-file.ts';
import type { LocalAccountOptions } from '../accounts/local-account.ts';
import type { PasswordVerifier } from '../accounts/passwords.ts';
import { AnonymousMethod } from './anonymous.ts';
import { ApplicationMethod } from './application.ts';
import type { AuthMethod } from './auth-method.ts';
import { type CalloutDependencies, CalloutMethod } from './callout.ts';
import { type AuthenticationOptions, accountsFilePath } from './options.ts';

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
