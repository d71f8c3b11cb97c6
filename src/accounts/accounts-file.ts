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

/** Interval in milliseconds at which the file is checked for changes that other processes made. */
const checkEveryMs = 1000;

/** The changed password of an account of the configuration. It takes precedence until the hash in the configuration changes. */
const overrideOptions = z.strictObject({
  password: z.string(),
  /** SHA-256 of the password hash in the configuration. `password` replaces that hash. */
  replaces: z.string(),
});

/** States that the hash of another system was replaced by svc's own hash of the same password. */
const replacedOptions = z.strictObject({
  /**
   * SHA-256 in base64url of the earlier hash (`from`) and of its replacement (`to`). This entry is valid while the account has the
   * replacement.
   */
  from: z.string(),
  to: z.string(),
});

const fileOptions = z.strictObject({
  accounts: z.record(z.string(), accountOptions).default({}),
  /** The former password hashes of each account, newest first. The option `history` of the password policy needs them. */
  password_history: z.record(z.string(), z.array(z.string())).default({}),
  password_overrides: z.record(z.string(), overrideOptions).default({}),
  replaced_hashes: z.record(z.string(), replacedOptions).default({}),
});

type FileOptions = z.infer<typeof fileOptions>;

/** The members of the file that a password change may modify. */
type Passwords = Pick<FileOptions, 'password_history' | 'password_overrides' | 'replaced_hashes'> & {
  accounts: Record<string, { password?: string | null | undefined }>;
};

interface Content {
  history: ReadonlyMap<string, readonly string[]>;
  /** All local accounts by name. Each account stays the same object until the file changes. */
  accounts: ReadonlyMap<string, LocalAccount>;
  passwordHashes: readonly string[];
}

interface AccountsFileOptions {
  /** Whether other processes could use the same file. */
  isShared?: boolean;
  /** Called when accounts have changed. Without `onChange`, the file is checked only when an account is looked up. */
  onChange?: (() => void) | undefined;
}

/** The local accounts: those of the configuration and those of the accounts file. If the file has changed, it is read again. */
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
   * @param path path of the accounts file, which need not exist
   * @param configured the option `accounts` of the configuration
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

  /** The account with this name. If the configuration and the file both have one, returns the account of the configuration. */
  find(name: string): LocalAccount | undefined {
    this.#refresh();
    return this.#content.accounts.get(name);
  }

  /** All accounts by name. Each call returns the same map until the file changes. */
  all(): ReadonlyMap<string, LocalAccount> {
    this.#refresh();
    return this.#content.accounts;
  }

  /** The accounts whose password hash comes from another system and is weak, each with the reason. */
  weakHashes(): { name: string; format: string; weakness: string }[] {
    return [...this.#content.accounts].flatMap(([name, { passwordHash }]) => {
      const { format = '', weakness } = (passwordHash ? parseForeignHash(passwordHash) : undefined) ?? {};
      return weakness === undefined ? [] : [{ name, format, weakness }];
    });
  }

  /** Checks the file regularly from now on, if there is an `onChange` to call. */
  watch(): Timer | undefined {
    return this.#options.onChange && this.#clock.every(checkEveryMs, () => this.#refresh());
  }

  /** The password hashes of all accounts that have one. */
  get passwordHashes(): readonly string[] {
    this.#refresh();
    return this.#content.passwordHashes;
  }

  /** The former password hashes that the file still has for an account, newest first. */
  formerHashes(name: string): readonly string[] {
    return this.#content.history.get(name) ?? [];
  }

  /**
   * Writes a new password hash. The file is replaced atomically, under a lock against other writers.
   *
   * @param keptHashes number of former hashes to keep
   * @param former the hash that the account should still have. If the account has another hash, because another process changed the
   *   password, nothing is written. If `former` is absent, the hash is not checked
   * @returns whether the new hash was written
   * @throws ServiceError `account-gone` when the account is gone, `unavailable` when the file cannot be locked or read; a system error when
   *   it cannot be written; UnsyncedChange when the new password is valid, but a power failure may undo it
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
   * Replaces password hashes with new hashes of the same passwords. If an account no longer has the given former hash, its current hash is
   * kept. The file is replaced atomically, under a lock against other writers.
   *
   * @param hashes the former and the new hash of each account, by name
   * @returns the names of the accounts whose hash was replaced
   * @throws the same errors as `setPassword`
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

  /**
   * Reads the file again, changes it and writes it.
   *
   * @param edit changes both the document to write and its parsed options; returns false if nothing is to be written
   */
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
    // After this time, every process has checked the file and refuses the old password.
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
      // The account is copied, because a YAML alias can make two accounts the same object.
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

  // Accounts of the configuration take precedence. A changed password is valid as long as the configuration has the hash that it replaces.
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
      // The file is opened first, because that makes an NFS client ask its server. Without that, stat(2) may return data that is a minute
      // old.
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
 * Parses the text of an accounts file. The text has a member `accounts` like the configuration, or contains only the map of accounts.
 *
 * @returns `written` is the document to change and write again, `options` are its parsed options, `isJson` is whether to write it as JSON
 * @throws ServiceError `unavailable`, whose message names the file and what is wrong in it
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
 * Parses a text as JSON, because the YAML parser takes 20 times as long (2 s for 100,000 accounts).
 *
 * @returns undefined when the text is not a JSON object, or has a key twice
 */
function readJson(text: string): unknown {
  if (!/^\s*\{/.test(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    const withoutSpaces = text.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/g, '$1');
    // If a key occurs twice, the parsed value has lost one of them, so its JSON differs from the text.
    return JSON.stringify(value) === withoutSpaces ? value : undefined;
  } catch {
    return undefined;
  }
}

function fingerprint(passwordHash = ''): string {
  return hash('sha256', passwordHash);
}
