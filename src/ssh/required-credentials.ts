import type { GroupConfiguration } from '../accounts/account.ts';
import { type CredentialKind, credentialKinds, type RequiredCredentials } from '../accounts/credential-kinds.ts';

const sshMethods: Readonly<Record<CredentialKind, readonly string[]>> = {
  'ssh-key': ['publickey'],
  password: ['password', 'keyboard-interactive'],
};

/**
 * Whether credentials of a kind can still succeed.
 *
 * @param required what the groups of the service require
 * @param first kind of the first of two credentials, once it was accepted
 */
export function isOffered(required: ReadonlySet<RequiredCredentials>, kind: CredentialKind, first?: CredentialKind): boolean {
  return first === undefined ? required.has('any') || required.has('both') || required.has(kind) : kind !== first;
}

/** Methods of SSH that can still succeed (RFC 4252 §5.1). @see isOffered */
export function methodsOffered(required: ReadonlySet<RequiredCredentials>, first?: CredentialKind): string[] {
  return credentialKinds.filter((kind) => isOffered(required, kind, first)).flatMap((kind) => sshMethods[kind]);
}

/** The distinct requirements of the groups of a configuration. */
export function requiredByGroups(groups: Iterable<Pick<GroupConfiguration, 'required_credentials'>>): ReadonlySet<RequiredCredentials> {
  return new Set([...groups].map((group) => group.required_credentials ?? 'any'));
}

/**
 * Whether accepted credentials complete a login.
 *
 * @param required what the account's group requires
 * @param first kind of the first of two credentials, once it was accepted
 */
export function sufficiency(
  required: RequiredCredentials,
  kind: CredentialKind,
  first?: CredentialKind,
): 'enough' | 'first-of-two' | 'wrong-kind' {
  if (kind === first || (required !== 'any' && required !== 'both' && required !== kind)) return 'wrong-kind';
  return required === 'both' && first === undefined ? 'first-of-two' : 'enough';
}

/** Whether the presented credentials are all that the account's group requires. */
export function isEnough(required: RequiredCredentials, kinds: readonly CredentialKind[]): boolean {
  return required === 'both' ? kinds.length === credentialKinds.length : required === 'any' || kinds.includes(required);
}
