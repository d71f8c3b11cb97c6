import { createHash, X509Certificate } from 'node:crypto';
import type { AccountsFile } from '../accounts/accounts-file.ts';
import type { LocalAccount } from '../accounts/local-account.ts';
import { longestVerificationMs, type PasswordVerifier } from '../accounts/passwords.ts';
import { sourceOf } from './address-source.ts';
import type { AuthMethod, AuthResult, MethodState } from './auth-method.ts';
import { type Credentials, keyBlobOf } from './credentials.ts';

const unknown: AuthResult = { outcome: 'next', reason: 'The name is not known here, or the credentials are wrong.' };

/**
 * Accounts of the configuration and of the accounts file (docs/spec/authentication.md#local-accounts). An unknown name and a
 * wrong password are one answer, and take the same work.
 */
export class ApplicationMethod implements AuthMethod {
  readonly type = 'application';
  readonly longestAnswerMs = longestVerificationMs;
  readonly uuid: string;
  readonly name: string;
  readonly accounts: AccountsFile;
  readonly #passwords: PasswordVerifier;
  state: MethodState = 'stopped';

  constructor(options: { uuid: string; name: string; accounts: AccountsFile; passwords: PasswordVerifier }) {
    this.uuid = options.uuid;
    this.name = options.name;
    this.accounts = options.accounts;
    this.#passwords = options.passwords;
  }

  async start(): Promise<void> {
    this.state = 'running';
  }

  async stop(): Promise<void> {
    this.state = 'stopped';
  }

  async authenticate(credentials: Credentials): Promise<AuthResult> {
    const account = this.accounts.find(credentials.username);
    const matches = await this.#matches(account, credentials);
    if (!account || !matches) return unknown;
    if (!account.enabled) return { outcome: 'rejected', kind: 'forbidden', reason: 'The account is disabled.' };
    return { outcome: 'authenticated', account: account.configuration };
  }

  listsKey(username: string, key: string): boolean {
    return hasKey(this.accounts.find(username), key);
  }

  async #matches(account: LocalAccount | undefined, credentials: Credentials): Promise<boolean> {
    switch (credentials.type) {
      case 'password': {
        const turn = { source: sourceOf(credentials.peer.address), isKnown: credentials.isKnown === true };
        const { username, content } = credentials;
        if (!account?.passwordHash) return this.#passwords.verifyUnknown(username, content, this.accounts.passwordHashes, turn);
        return this.#passwords.verify(content, account.passwordHash, turn);
      }
      case 'ssh-key':
        return hasKey(account, credentials.content);
      case 'ssl-certificate': {
        const presented = certificateFingerprint(credentials.content);
        return presented !== undefined && (account?.certificates ?? []).some((pem) => certificateFingerprint(pem) === presented);
      }
      default:
        return credentials.type satisfies never;
    }
  }
}

function hasKey(account: LocalAccount | undefined, key: string): boolean {
  return (account?.sshKeys ?? []).some((line) => keyBlobOf(line) === key.trim());
}

function certificateFingerprint(pem: string): string | undefined {
  try {
    return createHash('sha256').update(new X509Certificate(pem).raw).digest('hex');
  } catch {
    return undefined;
  }
}
