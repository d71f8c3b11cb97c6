import type { GroupConfiguration } from '../accounts/account.ts';
import { type CredentialKind, credentialKinds, type RequiredCredentials } from '../accounts/credential-kinds.ts';

const sshMethods: Readonly<Record<CredentialKind, readonly string[]>> = {
  'ssh-key': ['publickey'],
  password: ['password', 'keyboard-interactive'],
};

/**
 * Returns whether credentials of a kind can still succeed.
 *
 * @param required the requirements of the service's groups
 * @param first the kind that was already accepted, if two are needed
 */
export function isOffered(required: ReadonlySet<RequiredCredentials>, kind: CredentialKind, first?: CredentialKind): boolean {
  return first === undefined ? required.has('any') || required.has('both') || required.has(kind) : kind !== first;
}

/** Returns the SSH authentication methods that can still succeed (RFC 4252 §5.1). @see isOffered */
export function methodsOffered(required: ReadonlySet<RequiredCredentials>, first?: CredentialKind): string[] {
  return credentialKinds.filter((kind) => isOffered(required, kind, first)).flatMap((kind) => sshMethods[kind]);
}

/** Returns the distinct requirements of all groups of a configuration. */
export function requiredByGroups(groups: Iterable<Pick<GroupConfiguration, 'required_credentials'>>): ReadonlySet<RequiredCredentials> {
  return new Set([...groups].map((group) => group.required_credentials ?? 'any'));
}

/**
 * Returns whether the accepted credentials complete a login.
 *
 * @param required the requirement of the account's group
 * @param first the kind that was accepted before, if there was one
 */
export function sufficiency(
  required: RequiredCredentials,
  kind: CredentialKind,
  first?: CredentialKind,
): 'enough' | 'first-of-two' | 'wrong-kind' {
  if (kind === first || (required !== 'any' && required !== 'both' && required !== kind)) return 'wrong-kind';
  return required === 'both' && first === undefined ? 'first-of-two' : 'enough';
}

/** Returns whether the presented credentials meet the requirement of the account's group. */
export function isEnough(required: RequiredCredentials, kinds: readonly CredentialKind[]): boolean {
  return required === 'both' ? kinds.length === credentialKinds.length : required === 'any' || kinds.includes(required);
}
