import { X509Certificate } from 'node:crypto';
import type { AccountConfiguration, LocalAccount } from '../accounts/account.ts';
import type { AccountsFile } from '../accounts/accounts-file.ts';
import { longestVerificationMs, type PasswordVerifier } from '../accounts/passwords.ts';
import type { Timer } from '../lib/clock.ts';
import type { AuthMethod, AuthResult, MethodState } from './auth-method.ts';
import { loginSource } from './ban-list.ts';
import { type Credentials, fingerprintCredential, type Identity, type Proof, parseKeyBlob } from './credentials.ts';
import type { HashReplacement } from './hash-replacement.ts';

const unknown = { outcome: 'next', reason: 'The name is not known here, or the credentials are wrong.' } satisfies AuthResult;

/**
 * Authenticates local accounts (docs/spec/authentication.md#local-accounts). An unknown name gets the same answer as a wrong password,
 * after the same work.
 */
export class ApplicationMethod implements AuthMethod {
  readonly type = 'application';
  readonly longestAnswerMs = longestVerificationMs;
  readonly uuid: string;
  readonly name: string;
  readonly accounts: AccountsFile;
  readonly #passwords: PasswordVerifier;
  readonly #replacement: HashReplacement | undefined;
  /** For each login, the account for which the login was last found valid. If the account changes, it is a new object. */
  readonly #confirmed = new WeakMap<Identity, LocalAccount>();
  #watch: Timer | undefined;
  state: MethodState = 'stopped';

  /** @param options if `replacement` is absent, password hashes of other systems are not replaced */
  constructor(options: {
    uuid: string;
    name: string;
    accounts: AccountsFile;
    passwords: PasswordVerifier;
    replacement?: HashReplacement | undefined;
  }) {
    this.uuid = options.uuid;
    this.name = options.name;
    this.accounts = options.accounts;
    this.#passwords = options.passwords;
    this.#replacement = options.replacement;
  }

  async start(): Promise<void> {
    this.state = 'running';
    this.#watch ??= this.accounts.watch();
  }

  async stop(): Promise<void> {
    this.state = 'stopped';
    this.#watch?.cancel();
    await this.#replacement?.end();
  }

  async authenticate(credentials: Credentials): Promise<AuthResult> {
    const account = this.accounts.find(credentials.username);
    const matches = await this.#matches(account, credentials);
    if (!account || !matches) return unknown;
    if (!account.enabled) return { outcome: 'rejected', kind: 'forbidden', reason: 'The account is disabled.' };
    if (credentials.type === 'password') this.#replacement?.propose(account, credentials.content);
    return { outcome: 'authenticated', account: account.configuration, proof: makeProof(account, credentials) };
  }

  currentConfiguration(identity: Identity): AccountConfiguration | undefined {
    const account = this.accounts.find(identity.name);
    if (!account?.enabled) return undefined;
    if (this.#confirmed.get(identity) === account) return account.configuration;
    const { proof } = identity;
    if (!proof || !listFingerprints(account, proof.type).some((fingerprint) => proof.fingerprints.includes(fingerprint))) return undefined;
    this.#confirmed.set(identity, account);
    return account.configuration;
  }

  tokenConfiguration(username: string): AccountConfiguration | undefined {
    const account = this.accounts.find(username);
    return account?.enabled ? account.configuration : undefined;
  }

  listsKey(username: string, key: string): boolean {
    return hasKey(this.accounts.find(username), key);
  }

  /**
   * Says why this method refused credentials. The reason reveals which names exist, so only administrators may see it: it must never become
   * part of an answer to a client.
   */
  refusalReason({ username, type }: Credentials): string {
    const account = this.accounts.find(username);
    if (!account) return 'The name is not known here.';
    switch (type) {
      case 'password':
        return `The name is known here, but the ${account.passwordHash === undefined ? 'account has no password' : 'password is wrong'}.`;
      case 'ssh-key':
        return 'The name is known here, but the account does not list this key.';
      case 'ssl-certificate':
        return 'The name is known here, but the account does not list this certificate.';
      case 'token':
        return unknown.reason;
      default:
        return type satisfies never;
    }
  }

  async #matches(account: LocalAccount | undefined, credentials: Credentials): Promise<boolean> {
    switch (credentials.type) {
      case 'password': {
        const turn = { source: loginSource(credentials.peer.address), isKnown: credentials.isKnown === true };
        const { username, content } = credentials;
        if (!account?.passwordHash) return this.#passwords.verifyUnknown(username, content, this.accounts.passwordHashes, turn);
        return this.#passwords.verify(content, account.passwordHash, turn);
      }
      case 'ssh-key':
        return hasKey(account, credentials.content);
      case 'ssl-certificate': {
        const presented = fingerprintCertificate(credentials.content);
        return presented !== undefined && account !== undefined && listFingerprints(account, 'ssl-certificate').includes(presented);
      }
      case 'token':
        // The secret is already verified, so the account only has to exist.
        return account !== undefined;
      default:
        return credentials.type satisfies never;
    }
  }
}

function hasKey(account: LocalAccount | undefined, key: string): boolean {
  return (account?.sshKeys ?? []).some((line) => parseKeyBlob(line) === key.trim());
}

/** Returns the proof of the credential with which the account logged in. */
function makeProof({ passwordHash = '' }: LocalAccount, { type, content }: Credentials): Proof {
  if (type === 'ssl-certificate') return { type, fingerprints: [fingerprintCertificate(content) ?? ''] };
  return { type, fingerprints: [fingerprintCredential(type === 'password' ? passwordHash : content.trim())] };
}

/** Returns the fingerprints of an account's credentials of one type. */
function listFingerprints(account: LocalAccount, type: Proof['type']): string[] {
  switch (type) {
    case 'password':
      return [
        ...(account.passwordHash === undefined ? [] : [fingerprintCredential(account.passwordHash)]),
        ...(account.replacedHashFingerprint === undefined ? [] : [account.replacedHashFingerprint]),
      ];
    case 'ssh-key':
      return account.sshKeys.flatMap((line) => parseKeyBlob(line) ?? []).map(fingerprintCredential);
    case 'ssl-certificate':
      return account.certificates.flatMap((pem) => fingerprintCertificate(pem) ?? []);
    case 'token':
      return [];
    default:
      return type satisfies never;
  }
}

function fingerprintCertificate(pem: string): string | undefined {
  try {
    return fingerprintCredential(new X509Certificate(pem).raw.toString('base64'));
  } catch {
    return undefined;
  }
}
