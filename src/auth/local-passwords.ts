import {
  hashPassword,
  newPasswordFault,
  type PasswordPolicy,
  type PasswordVerifier,
  unmetRules,
  type VerificationTurn,
} from '../accounts/passwords.ts';
import type { ApplicationMethod } from './application.ts';
import type { AuthMethod } from './auth-method.ts';
import { fingerprintCredential } from './credentials.ts';

/** Verifies and changes passwords of local accounts. */
export class LocalPasswords {
  readonly #methods: ReadonlyMap<string, ApplicationMethod>;
  readonly #verifier: PasswordVerifier;
  readonly policy: PasswordPolicy;

  constructor(methods: readonly AuthMethod[], verifier: PasswordVerifier, policy: PasswordPolicy) {
    const own = methods.filter((method): method is ApplicationMethod => method.type === 'application');
    this.#methods = new Map(own.map((method) => [method.uuid, method]));
    this.#verifier = verifier;
    this.policy = policy;
  }

  /** Whether this service stores the passwords of a method's accounts. */
  isOwn(methodUuid: string): boolean {
    return this.#methods.has(methodUuid);
  }

  /** Whether the account has this password. @throws ServiceError `unavailable` if too many verifications are already waiting */
  async isCurrent(methodUuid: string, accountName: string, password: string, turn: VerificationTurn): Promise<boolean> {
    const hash = this.#methods.get(methodUuid)?.accounts.find(accountName)?.passwordHash;
    return hash === undefined ? false : this.#verifier.verify(password, hash, turn);
  }

  /**
   * Changes a password.
   *
   * @param announce called with the fingerprints of the old and new hash, before the new password becomes valid
   * @returns the reasons why the password was not changed, one sentence for each; empty if it was changed
   * @throws the errors of `AccountsFile.setPassword`; ServiceError `unavailable` if too many verifications are already waiting
   */
  async change(
    methodUuid: string,
    accountName: string,
    newPassword: string,
    { turn, announce }: { turn: VerificationTurn; announce: (fingerprints: readonly string[]) => Promise<unknown> },
  ): Promise<string[]> {
    const accounts = this.#methods.get(methodUuid)?.accounts;
    const currentHash = accounts?.find(accountName)?.passwordHash;
    if (!accounts || !currentHash) return ['The account has no password that could be changed.'];
    const fault = newPasswordFault(newPassword);
    if (fault !== undefined) return [fault];
    const former = [currentHash, ...accounts.formerHashes(accountName)].slice(0, this.policy.history);
    const unmet = [...unmetRules(this.policy, newPassword), ...(await this.#reused(former, newPassword, turn))];
    if (unmet.length > 0) return unmet;
    const newHash = await hashPassword(newPassword);
    await announce([currentHash, newHash].map(fingerprintCredential));
    const isChanged = await accounts.setPassword(accountName, newHash, this.policy.history, currentHash);
    return isChanged ? [] : ['The password was changed meanwhile.'];
  }

  async #reused(former: readonly string[], newPassword: string, turn: VerificationTurn): Promise<string[]> {
    for (const hash of former) {
      if (await this.#verifier.verify(newPassword, hash, turn)) return [`The password must differ from the last ${this.policy.history}.`];
    }
    return [];
  }
}
