import type { AccountsFile } from '../accounts/accounts-file.ts';
import { type PasswordPolicy, unmetRules } from '../accounts/password-policy.ts';
import { hashPassword, type PasswordVerifier } from '../accounts/passwords.ts';
import type { ApplicationMethod } from './application.ts';
import type { AuthMethod } from './auth-method.ts';

/** Changes passwords that this service keeps itself. */
export class LocalPasswords {
  readonly #methods: ReadonlyMap<string, ApplicationMethod>;
  readonly #verifier: PasswordVerifier;
  readonly #policy: PasswordPolicy;

  constructor(methods: readonly AuthMethod[], verifier: PasswordVerifier, policy: PasswordPolicy) {
    const own = methods.filter((method): method is ApplicationMethod => method.type === 'application');
    this.#methods = new Map(own.map((method) => [method.uuid, method]));
    this.#verifier = verifier;
    this.#policy = policy;
  }

  /** Whether the password of the accounts of a method is kept by this service. */
  isOwn(methodUuid: string): boolean {
    return this.#methods.has(methodUuid);
  }

  /**
   * Changes a password.
   *
   * @returns one sentence for each unmet rule, or that the current password is wrong; empty when it was changed
   * @throws ServiceError when the new hash cannot be kept
   */
  async change(methodUuid: string, accountName: string, currentPassword: string, newPassword: string): Promise<string[]> {
    const accounts = this.#methods.get(methodUuid)?.accounts;
    const currentHash = accounts?.find(accountName)?.passwordHash;
    if (!accounts || !currentHash) return ['The account has no password that could be changed.'];
    if (!(await this.#verifier.verify(currentPassword, currentHash))) return ['The current password is not correct.'];
    const unmet = [...unmetRules(this.#policy, newPassword), ...(await this.#reused(accounts, accountName, currentHash, newPassword))];
    if (unmet.length > 0) return unmet;
    await accounts.setPassword(accountName, await hashPassword(newPassword), this.#policy.history);
    return [];
  }

  async #reused(accounts: AccountsFile, accountName: string, currentHash: string, newPassword: string): Promise<string[]> {
    if (this.#policy.history === 0) return [];
    for (const hash of [currentHash, ...accounts.formerHashes(accountName)].slice(0, this.#policy.history)) {
      if (await this.#verifier.verify(newPassword, hash)) return [`The password must differ from the last ${this.#policy.history}.`];
    }
    return [];
  }
}
