import { hash } from 'node:crypto';
import type { AccountConfiguration } from '../accounts/account.ts';
import { isObject } from '../lib/json.ts';
import type { CredentialType } from './credentials.ts';

/** By which credential of an account somebody was let in. */
export interface Proof {
  readonly type: CredentialType;
  /** The credential is one of these. A session in which the password is changed gets one more, in place: all who hold the session see it. */
  readonly fingerprints: string[];
}

/**
 * Who logged in, and by what: all that sessions and requests keep of a login. What the account may do is asked of the configuration in force
 * (`AuthChain.inForce`), so that nothing of it can be out of date (docs/spec/authentication.md#account-in-force).
 */
export interface Identity {
  readonly name: string;
  /** UUID of the account. */
  readonly uuid: string;
  /** The method that accepted it. */
  readonly method: { readonly uuid: string; readonly type: string };
  /** What a callout's reply said; undefined where the method knows the account itself. */
  readonly configuration?: AccountConfiguration | undefined;
  /** Undefined where the method keeps no credentials. */
  readonly proof?: Proof | undefined;
}

/**
 * The fingerprint of a password's hash, a key or a certificate. Of a password it tells nothing: without the salt, which is part of the hash,
 * nobody can try passwords against it.
 */
export function fingerprintOf(credential: string): string {
  return hash('sha256', credential, 'base64url');
}

/** Reads an identity that was written as JSON, once it is parsed. @throws TypeError for what is none */
export function identityOfJson(value: unknown): Identity {
  const { name, uuid, method, configuration, proof } = value as Identity;
  const isIdentity = [name, uuid, method.uuid, method.type, ...(proof ? [proof.type, ...proof.fingerprints] : [])].every(
    (text) => typeof text === 'string',
  );
  if (!isIdentity || (configuration !== undefined && !isObject(configuration))) throw new TypeError('It is no login.');
  return value as Identity;
}
