import { hash } from 'node:crypto';
import { isPassword, longestVerificationMs, type PasswordVerifier } from '../../accounts/passwords.ts';
import { isUserName } from '../../accounts/user-names.ts';
import { loginSource } from '../../auth/ban-list.ts';
import type { AdministratorRole } from '../../config/report-shapes.ts';
import type { ConsoleOptions } from '../../config/schema/console-options.ts';

/** Somebody who has logged in. */
export interface Administrator {
  readonly name: string;
  readonly role: AdministratorRole;
  /** Tells whether name, password and role are still those of the configuration. */
  readonly stamp: string;
}

/** Longest time that a password takes to be checked, in milliseconds. */
export const longestCheckMs = longestVerificationMs;

/** The administrators of a console's configuration. */
export class Administrators {
  readonly #options: ConsoleOptions['administrators'];
  readonly #passwords: PasswordVerifier;

  constructor(options: ConsoleOptions['administrators'], passwords: PasswordVerifier) {
    this.#options = options;
    this.#passwords = passwords;
  }

  /** The administrator of a name, as the configuration has it now. */
  named(name: string): Administrator | undefined {
    if (!Object.hasOwn(this.#options, name)) return undefined;
    const { password, role } = this.#options[name] as ConsoleOptions['administrators'][string];
    return { name, role, stamp: hash('sha256', JSON.stringify([name, role, password]), 'base64') };
  }

  /** Whether an administrator is still the same. */
  knows({ name, stamp }: Administrator): boolean {
    return this.named(name)?.stamp === stamp;
  }

  /**
   * The administrator of a name and a password; an unknown name takes the work of a wrong password.
   *
   * @param turn for whom it is checked: the address, and whether the very credentials were right from there of late
   * @throws ServiceError `unavailable` when too many checks wait
   */
  async check(name: string, password: string, turn: { address: string; isKnown: boolean }): Promise<Administrator | undefined> {
    if (!isUserName(name) || !isPassword(password)) return undefined;
    const administrator = this.named(name);
    const verification = { source: loginSource(turn.address), isKnown: turn.isKnown };
    if (!administrator) {
      const hashes = Object.values(this.#options).map(({ password: known }) => known);
      await this.#passwords.verifyUnknown(`administrator ${name}`, password, hashes, verification);
      return undefined;
    }
    const { password: passwordHash } = this.#options[name] as ConsoleOptions['administrators'][string];
    return (await this.#passwords.verify(password, passwordHash, verification)) ? administrator : undefined;
  }
}
