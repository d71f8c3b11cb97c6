import type { AccountConfiguration } from './account.ts';

/** An account of the configuration or of the accounts file. */
export interface LocalAccount {
  readonly name: string;
  readonly enabled: boolean;
  readonly passwordHash: string | undefined;
  /** OpenSSH public key lines. */
  readonly sshKeys: readonly string[];
  /** Certificates in PEM text. */
  readonly certificates: readonly string[];
  readonly configuration: AccountConfiguration;
}

/** One entry of `accounts`, option names as in the configuration. */
export interface LocalAccountOptions extends AccountConfiguration {
  enabled: boolean;
  password?: string | null | undefined;
  ssh_keys?: readonly string[] | null | undefined;
  certificates?: readonly string[] | null | undefined;
}

/** Makes a local account of its options. */
export function localAccountOf(name: string, options: LocalAccountOptions): LocalAccount {
  const { enabled, password, ssh_keys, certificates, ...configuration } = options;
  return {
    name,
    enabled,
    passwordHash: password || undefined,
    sshKeys: ssh_keys ?? [],
    certificates: certificates ?? [],
    configuration,
  };
}
