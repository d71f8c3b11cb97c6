import { hash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { stringify as toYaml } from 'yaml';
import * as z from 'zod';
import type { Clock, Timer } from '../lib/clock.ts';
import { UnsyncedChange, writeFileAtomically } from '../lib/disk/durable-files.ts';
import { withFileLock } from '../lib/disk/file-lock.ts';
import { ServiceError, systemErrorCode } from '../lib/errors.ts';
import { isObject } from '../lib/json.ts';
import type { Log } from '../lib/log.ts';
import { readPlainYaml } from '../lib/yaml-document.ts';
import { type LocalAccount, type LocalAccountOptions, toLocalAccount } from './account.ts';
import { parseForeignHash } from './foreign-hashes.ts';
import { accountOptions } from './options.ts';

/** How often the file is checked for changes by other processes. */
const checkEveryMs = 1000;

/** Password changes of accounts of the configuration; they take precedence until the hash in the configuration changes. */
const overrideOptions = z.strictObject({
  password: z.string(),
  /** SHA-256 of the configuration's hash that this one replaced. */
  replaces: z.string(),
});

/** A hash of another system that was replaced by one of the same password. */
const replacedOptions = z.strictObject({
  /** SHA-256 in base64url of the earlier hash and of its replacement; valid while the account has the replacement. */
  from: z.string(),
  to: z.string(),
});

const fileOptions = z.strictObject({
  accounts: z.record(z.string(), accountOptions).default({}),
  /** Former password hashes of accounts, newest first, for the policy's `history`. */
  password_history: z.record(z.string(), z.array(z.string())).default({}),
  password_overrides: z.record(z.string(), overrideOptions).default({}),
  replaced_hashes: z.record(z.string(), replacedOptions).default({}),
});

type FileOptions = z.infer<typeof fileOptions>;

/** The members of the file that a password change modifies. */
type Passwords = Pick<FileOptions, 'password_history' | 'password_overrides' | 'replaced_hashes'> & {
  accounts: Record<string, { password?: string | null | undefined }>;
};

interface Content {
  history: ReadonlyMap<string, readonly string[]>;
  /** All local accounts by name. An account is the same object until the file changes. */
  accounts: ReadonlyMap<string, LocalAccount>;
  passwordHashes: readonly string[];
}

interface AccountsFileOptions {
  /** Whether other processes may have the file, too. */
  isShared?: boolean;
  /** Called when accounts changed; without it the file is checked only when an account is asked for. */
  onChange?: (() => void) | undefined;
}

/** The local accounts: those of the configuration and of the accounts file, which is read again after a change. */
export class AccountsFile {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #configured: ReadonlyMap<string, LocalAccount>;
  readonly #options: AccountsFileOptions;
  #content: Content;
  #version = '';
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  /**
   * @param path the accounts file; it need not exist
   * @param configured `accounts` of the configuration
   * @throws ServiceError `unavailable` when the file cannot be read or is not valid
   */
  constructor(
    path: string,
    configured: Readonly<Record<string, LocalAccountOptions>>,
    clock: Clock,
    log: Log,
    options: AccountsFileOptions = {},
  ) {
    this.#options = options;
    this.#path = path;
    this.#clock = clock;
    this.#log = log;
    this.#configured = new Map(Object.entries(configured).map(([name, options]) => [name, toLocalAccount(name, options)]));
    this.#content = this.#read();
  }

  /** The account of a name; the configuration's comes first. */
  find(name: string): LocalAccount | undefined {
    this.#refresh();
    return this.#content.accounts.get(name);
  }

  /** All accounts by name: the same map until the file changes. */
  all(): ReadonlyMap<string, LocalAccount> {
    this.#refresh();
    return this.#content.accounts;
  }

  /** The accounts whose hash is of another system and fast to guess, each with the reason. */
  weakHashes(): { name: string; format: string; weakness: string }[] {
    return [...this.#content.accounts].flatMap(([name, { passwordHash }]) => {
      const { format = '', weakness } = (passwordHash ? parseForeignHash(passwordHash) : undefined) ?? {};
      return weakness === undefined ? [] : [{ name, format, weakness }];
    });
  }

  /** Checks the file from now on, where a listener wants changes. */
  watch(): Timer | undefined {
    return this.#options.onChange && this.#clock.every(checkEveryMs, () => this.#refresh());
  }

  /** The hashes of all accounts that have one. */
  get passwordHashes(): readonly string[] {
    this.#refresh();
    return this.#content.passwordHashes;
  }

  /** The kept former password hashes of an account, newest first. */
  formerHashes(name: string): readonly string[] {
    return this.#content.history.get(name) ?? [];
  }

  /**
   * Writes a new password hash: atomically, and locked against other writers.
   *
   * @param keptHashes how many former hashes to keep
   * @param former the hash that is to be replaced: one that another process wrote meanwhile stays
   * @returns whether the account has the new one
   * @throws ServiceError `not-found` when the account is gone, `unavailable` when the file cannot be written; UnsyncedChange when the new
   *   password is in force, but a power cut may undo it
   */
  async setPassword(name: string, hash: string, keptHashes: number, former?: string): Promise<boolean> {
    let isReplaced = false;
    await this.#change((documents) => {
      const [, options] = documents;
      const formerHash = this.#content.accounts.get(name)?.passwordHash;
      if (former !== undefined && formerHash !== former) return false;
      const history = [...(formerHash ? [formerHash] : []), ...(options.password_history[name] ?? [])].slice(0, keptHashes);
      for (const document of documents) {
        if (history.length > 0) document.password_history = { ...document.password_history, [name]: history };
        this.#replaceHash(document, name, hash);
      }
      isReplaced = true;
      return true;
    });
    return isReplaced;
  }

  /**
   * Replaces password hashes by other hashes of the same passwords, where the accounts still have the old ones: atomically, and locked
   * against other writers.
   *
   * @param hashes the former and the new hash of each account
   * @returns the names of the accounts that have the new ones
   * @throws as `setPassword`
   */
  async replaceHashes(hashes: ReadonlyMap<string, { from: string; to: string }>): Promise<string[]> {
    const replaced: string[] = [];
    await this.#change((documents) => {
      for (const [name, { from, to }] of hashes) {
        if (this.#content.accounts.get(name)?.passwordHash !== from) continue;
        const record = { from: hash('sha256', from, 'base64url'), to: hash('sha256', to, 'base64url') };
        for (const document of documents) {
          this.#replaceHash(document, name, to);
          document.replaced_hashes = { ...document.replaced_hashes, [name]: record };
        }
        replaced.push(name);
      }
      return replaced.length > 0;
    });
    return replaced;
  }

  /** Changes the file and its parsed options, which are read again first. @param edit returns whether there is anything to write */
  async #change(edit: (documents: [Passwords, FileOptions]) => boolean): Promise<void> {
    let unsynced: UnsyncedChange | undefined;
    let isChanged = false;
    await withFileLock(this.#path, this.#clock, async () => {
      const { written, options, isJson } = this.#parse();
      this.#content = this.#contentOf(options);
      isChanged = edit([written, options]);
      if (!isChanged) return;
      try {
        await writeFileAtomically(this.#path, isJson ? `${JSON.stringify(written, null, 2)}\n` : toYaml(written), { mode: 0o600 });
      } catch (error) {
        if (!(error instanceof UnsyncedChange)) throw error;
        unsynced = error;
      }
      this.#version = this.#versionOnDisk();
      this.#content = this.#contentOf(options);
    });
    if (!isChanged) return;
    this.#options.onChange?.();
    // After this time each process has checked the file, and refuses the old password.
    if (this.#options.isShared) await this.#clock.sleep(checkEveryMs);
    if (unsynced) throw unsynced;
  }

  #replaceHash(document: Passwords, name: string, password: string): void {
    const configured = this.#configured.get(name);
    if (configured) {
      const override = { password, replaces: fingerprint(configured.passwordHash) };
      document.password_overrides = { ...document.password_overrides, [name]: override };
    } else {
      const account = document.accounts[name];
      if (!account) throw new ServiceError('account-gone', 'The account does not exist any more.');
      // With a YAML alias, two accounts may be the same object.
      document.accounts[name] = { ...account, password };
    }
  }

  #refresh(): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#lookedAtMs < checkEveryMs) return;
    this.#lookedAtMs = nowMs;
    if (this.#versionOnDisk() === this.#version) return;
    try {
      this.#content = this.#read();
      this.#log.info('accounts file read again', { path: this.#path, accounts: this.#content.accounts.size });
      this.#options.onChange?.();
    } catch (error) {
      this.#version = this.#versionOnDisk();
      this.#log.error('the changed accounts file is not valid; the accounts stay as they were', { path: this.#path, reason: error });
    }
  }

  #read(): Content {
    const version = this.#versionOnDisk();
    const { options } = this.#parse();
    this.#version = version;
    return this.#contentOf(options);
  }

  // Accounts of the configuration take precedence; a changed password is valid while the configuration has the hash that it replaced.
  #contentOf(options: FileOptions): Content {
    const accounts = new Map(Object.entries(options.accounts).map(([name, account]) => [name, toLocalAccount(name, account)]));
    for (const [name, configured] of this.#configured) {
      const override = options.password_overrides[name];
      const isInForce = override !== undefined && override.replaces === fingerprint(configured.passwordHash);
      accounts.set(name, isInForce ? { ...configured, passwordHash: override.password } : configured);
    }
    for (const [name, { from, to }] of Object.entries(options.replaced_hashes)) {
      const account = accounts.get(name);
      if (account?.passwordHash !== undefined && hash('sha256', account.passwordHash, 'base64url') === to)
        accounts.set(name, { ...account, replacedHashFingerprint: from });
    }
    const passwordHashes = [...accounts.values()].flatMap(({ passwordHash }) => passwordHash ?? []);
    return { history: new Map(Object.entries(options.password_history)), accounts, passwordHashes };
  }

  #versionOnDisk(): string {
    let fd: number;
    try {
      // Opening makes an NFS client ask its server; stat(2) may return data that is a minute old.
      fd = openSync(this.#path, 'r');
    } catch {
      return '';
    }
    try {
      const stats = fstatSync(fd);
      return `${stats.ino}-${stats.size}-${stats.mtimeMs}`;
    } finally {
      closeSync(fd);
    }
  }

  #parse(): ReturnType<typeof parseAccountsFile> {
    let text = '';
    try {
      text = readFileSync(this.#path, 'utf8');
    } catch (error) {
      if (systemErrorCode(error) !== 'ENOENT')
        throw new ServiceError('unavailable', `accounts file: ${(error as Error).message}`, { cause: error });
    }
    return parseAccountsFile(text, this.#path);
  }
}

/**
 * Reads the text of an accounts file: `accounts` as in the configuration, or such a map alone.
 *
 * @returns the file as a document that can be written again (as JSON if it is JSON), and its parsed options
 * @throws ServiceError `unavailable` naming the file and the option at fault
 */
export function parseAccountsFile(text: string, path: string): { written: Passwords; options: FileOptions; isJson: boolean } {
  let value = readJson(text);
  const isJson = value !== undefined;
  try {
    value ??= readPlainYaml(text) ?? {};
  } catch (error) {
    throw new ServiceError('unavailable', `accounts file ${path}: ${(error as Error).message.split('\n', 1)[0]}`, { cause: error });
  }
  const isWhole = isObject(value) && ['accounts', 'password_overrides', 'replaced_hashes'].some((member) => member in (value as object));
  const written = (isWhole ? value : { accounts: value }) as Passwords;
  const result = fileOptions.safeParse(written);
  if (result.success) return { written: { ...written, accounts: written.accounts ?? {} }, options: result.data, isJson };
  const [issue] = result.error.issues;
  throw new ServiceError('unavailable', `accounts file ${path}: ${issue?.path.join('.')}: ${issue?.message}`);
}

/**
 * The object of a JSON text without repeated keys, undefined for other texts. The YAML parser takes 20 times as long (2 s for 100,000
 * accounts).
 */
function readJson(text: string): unknown {
  if (!/^\s*\{/.test(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    const withoutSpaces = text.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/g, '$1');
    // A repeated key would be missing when the parsed value is written again.
    return JSON.stringify(value) === withoutSpaces ? value : undefined;
  } catch {
    return undefined;
  }
}

function fingerprint(passwordHash = ''): string {
  return hash('sha256', passwordHash);
}
