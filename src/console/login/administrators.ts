import { hash } from 'node:crypto';
import { isPassword, type PasswordVerifier } from '../../accounts/passwords.ts';
import { isUserName } from '../../accounts/user-names.ts';
import { loginSource } from '../../auth/ban-list.ts';
import type { AdministratorRole } from '../../config/report-shapes.ts';
import type { ConsoleOptions } from '../../config/schema/console-options.ts';

export interface Administrator {
  readonly name: string;
  readonly role: AdministratorRole;
  /** Hash of name, role and password. It changes if the configuration changes one of them. */
  readonly stamp: string;
}

/** Whether an administrator may decide about held uploads and see their content. */
export function mayReview({ role }: Pick<Administrator, 'role'>): boolean {
  return role !== 'viewer';
}

/** The administrators of a console's configuration. */
export class Administrators {
  readonly #options: ConsoleOptions['administrators'];
  readonly #passwords: PasswordVerifier;

  constructor(options: ConsoleOptions['administrators'], passwords: PasswordVerifier) {
    this.#options = options;
    this.#passwords = passwords;
  }

  /** Looks up an administrator of the running configuration by name. */
  named(name: string): Administrator | undefined {
    if (!Object.hasOwn(this.#options, name)) return undefined;
    const { password, role } = this.#options[name] as ConsoleOptions['administrators'][string];
    return { name, role, stamp: hash('sha256', JSON.stringify([name, role, password]), 'base64') };
  }

  /** Returns whether the configuration still has this administrator, unchanged since the login. */
  knows({ name, stamp }: Administrator): boolean {
    return this.named(name)?.stamp === stamp;
  }

  /**
   * Returns the administrator with this name and password; undefined if they are wrong. An unknown name takes as much work as a wrong
   * password, so that the time of the reply does not reveal which names exist.
   *
   * @param turn the address of the client, and whether the same credentials were recently accepted from it
   * @throws ServiceError `unavailable` if too many checks are waiting
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
