import { hash } from 'node:crypto';
import type { AccountConfiguration } from '../accounts/account.ts';
import type { CredentialType } from '../accounts/credential-kinds.ts';
import type { GrantName } from '../accounts/narrowing.ts';
import { isPassword } from '../accounts/passwords.ts';
import { isUserName } from '../accounts/user-names.ts';
import type { EventPeer, RequestTrace } from '../events/event.ts';
import { isObject } from '../lib/json.ts';

/** The credential that let an account in. */
export interface Proof {
  readonly type: CredentialType;
  /** The credential matches one of these. A password change adds one in place, so that all holders of the session see it. */
  readonly fingerprints: string[];
}

/**
 * The part of a login that sessions and requests keep; the rights are those of the running configuration
 * (docs/spec/authentication.md#account-in-force).
 */
export interface Identity {
  readonly name: string;
  /** UUID of the account. */
  readonly uuid: string;
  /** The method that accepted it. */
  readonly method: { readonly uuid: string; readonly type: string };
  /** The account of a callout's reply; undefined where the method knows the account itself. */
  readonly configuration?: AccountConfiguration | undefined;
  /** Undefined where the method keeps no credentials. */
  readonly proof?: Proof | undefined;
  /** The token or link that opened it. */
  readonly grant?: GrantName | undefined;
}

/** The fingerprint of a password's hash, a key or a certificate. Passwords cannot be tried against it without the salt, which is in the hash. */
export function fingerprintCredential(credential: string): string {
  return hash('sha256', credential, 'base64url');
}

/** Validates an identity from JSON. @throws TypeError */
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
  if (!isIdentity || (configuration !== undefined && !isObject(configuration))) throw new TypeError('The request is not a login.');
  return value as Identity;
}

/** The credentials of a client and their circumstances: the question that every authentication method answers. */
export interface Credentials {
  readonly type: CredentialType;
  readonly username: string;
  /** The password, the base64 public key blob, the certificate in PEM text, or the ID of a token. Never logged. */
  readonly content: string;
  readonly peer: EventPeer;
  /** The component that received the client's connection. */
  readonly creator: { readonly uuid: string; readonly type: string };
  /** The request that brought them, for events and for the `traceparent` of a callout. */
  readonly request?: RequestTrace;
  /** Whether the same credentials were accepted from this address recently: they need not wait behind guesses of others. */
  readonly isKnown?: boolean;
}

/** The reason of a refusal without asking any method. */
export const notAskable = 'The name or the password is not acceptable.';

/** Whether any method may be asked about these credentials at all (docs/spec/authentication.md#names-and-passwords). */
export function areAskable(credentials: Credentials): boolean {
  if (!isUserName(credentials.username)) return false;
  return credentials.type !== 'password' || isPassword(credentials.content);
}

/**
 * The base64 blob of an OpenSSH public key line (`ssh-ed25519 AAAA… comment`); undefined for other text, or if the key is of another type
 * than the line says.
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

/** The body of the credentials request (docs/spec/authentication.md#credentials-request). */
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
