import { hash } from 'node:crypto';
import type { AccountConfiguration } from '../accounts/account.ts';
import type { CredentialType } from '../accounts/credential-kinds.ts';
import type { GrantName } from '../accounts/narrowing.ts';
import { isPassword } from '../accounts/passwords.ts';
import { isUserName } from '../accounts/user-names.ts';
import type { EventPeer, RequestTrace } from '../events/event.ts';
import { isObject } from '../lib/json.ts';

/** The credential with which an account logged in. */
export interface Proof {
  readonly type: CredentialType;
  /**
   * The fingerprint of the credential. Before a new password hash is written, `SessionStore.renew` puts two fingerprints into the array: of
   * the old and of the new hash. It modifies the array itself, so that everything that refers to the array has the new fingerprint.
   */
  readonly fingerprints: string[];
}

/**
 * The part of a login that sessions and requests keep. It does not contain the rights, because they come from the current configuration
 * (docs/spec/authentication.md#effective-account).
 */
export interface Identity {
  readonly name: string;
  /** UUID of the account. */
  readonly uuid: string;
  /** The method that accepted the account. */
  readonly method: { readonly uuid: string; readonly type: string };
  /**
   * The account that the method returned at the login. Set only for methods that keep no credentials: callouts (requests to a remote
   * endpoint), and anonymous access.
   */
  readonly configuration?: AccountConfiguration | undefined;
  /** Undefined if the method keeps no credentials, or if a token or link was used. */
  readonly proof?: Proof | undefined;
  /** The token or link with which the client logged in, if any. */
  readonly grant?: GrantName | undefined;
}

/**
 * Returns the fingerprint of a password hash, a key or a certificate. Passwords cannot be tested against a fingerprint without the salt,
 * which is in the hash.
 */
export function fingerprintCredential(credential: string): string {
  return hash('sha256', credential, 'base64url');
}

/** Validates an identity from JSON. @throws TypeError for any other value */
export function parseIdentity(value: unknown): Identity {
  const { name, uuid, method, configuration, proof, grant } = value as Identity;
  const isIdentity = [
    name,
    uuid,
    method.uuid,
    method.type,
    ...(proof ? [proof.type, ...proof.fingerprints] : []),
    ...Object.values(grant ?? {}),
  ].every((text) => typeof text === 'string');
  if (!isIdentity || (configuration !== undefined && !isObject(configuration))) throw new TypeError('This is not a login.');
  return value as Identity;
}

/** The credentials of a client, with the connection and the request that they came with. Authentication methods check them. */
export interface Credentials {
  readonly type: CredentialType;
  readonly username: string;
  /** The password, the base64 public key blob, the certificate in PEM text, or the ID of a token. Never logged. */
  readonly content: string;
  readonly peer: EventPeer;
  /** The component that received the client's connection. */
  readonly creator: { readonly uuid: string; readonly type: string };
  /** The request that contained the credentials, for events and for the `traceparent` of a callout. */
  readonly request?: RequestTrace;
  /** Whether the same credentials were accepted from this address recently. If so, they do not wait behind guesses by others. */
  readonly isKnown?: boolean;
}

export const notAskable = 'The name or the password is not acceptable.';

/** Whether methods may be asked about these credentials (docs/spec/authentication.md#names-and-passwords). */
export function areAskable(credentials: Credentials): boolean {
  if (!isUserName(credentials.username)) return false;
  return credentials.type !== 'password' || isPassword(credentials.content);
}

/**
 * Returns the base64 blob of an OpenSSH public key line (`ssh-ed25519 AAAA… comment`). Returns undefined for any other text, and if the
 * type in the line is not the type of the key.
 */
export function parseKeyBlob(line: string): string | undefined {
  const [type = '', blob = ''] = line.trim().split(/\s+/);
  const bytes = Buffer.from(blob, 'base64');
  const isOfType =
    type !== '' && bytes.length >= 4 && bytes.readUInt32BE() === type.length && bytes.toString('latin1', 4, 4 + type.length) === type;
  return isOfType ? blob : undefined;
}

/** Media type of the credentials request (docs/spec/authentication.md#credentials-request). */
export const credentialsContentType = 'application/json; charset=utf-8';

/** Builds the body of the credentials request (docs/spec/authentication.md#credentials-request). */
export function credentialsRequestBody(credentials: Credentials, serverUuid: string): string {
  const { type, username, content, peer, creator } = credentials;
  return JSON.stringify({
    credentials: {
      type,
      username,
      content,
      peer: { address: peer.address, port: peer.port, family: peer.family, protocol: peer.protocol },
      creator: { uuid: creator.uuid, type: creator.type },
    },
    server: { uuid: serverUuid },
  });
}
