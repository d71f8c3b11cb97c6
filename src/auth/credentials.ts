import { isPassword } from '../accounts/passwords.ts';
import { isUserName } from '../accounts/user-names.ts';
import type { EventPeer, RequestTrace } from '../events/event.ts';

/** How a client proved who it is (docs/spec/authentication.md#credentials-request). */
export const credentialTypes = ['password', 'ssh-key', 'ssl-certificate'] as const;
export type CredentialType = (typeof credentialTypes)[number];

/** What a client presented, and where: the question that every authentication method answers. */
export interface Credentials {
  readonly type: CredentialType;
  readonly username: string;
  /** The password, the base64 public key blob, or the certificate in PEM text. Never logged. */
  readonly content: string;
  readonly peer: EventPeer;
  /** The component that received the client's connection. */
  readonly creator: { readonly uuid: string; readonly type: string };
  /** The request that brought them, for events and for the `traceparent` of a callout. */
  readonly request?: RequestTrace;
  /** Whether these very credentials were accepted from this address of late: nobody is then kept waiting by guesses of others. */
  readonly isKnown?: boolean;
}

/** Said of credentials that no method is asked about. */
export const notAskable = 'The name or the password is not acceptable.';

/** Whether any method may be asked about these credentials at all (docs/spec/authentication.md#names-and-passwords). */
export function areAskable(credentials: Credentials): boolean {
  if (!isUserName(credentials.username)) return false;
  return credentials.type !== 'password' || isPassword(credentials.content);
}

/** The base64 blob of an OpenSSH public key line (`ssh-ed25519 AAAA… comment`); undefined when it is none, or a key of another type than it says. */
export function keyBlobOf(line: string): string | undefined {
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
