import { isUserName, longestCredentialCharacters } from '../accounts/user-names.ts';
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

/** Whether any method may be asked about these credentials at all (docs/spec/authentication.md#names-and-passwords). */
export function areAskable(credentials: Credentials): boolean {
  if (!isUserName(credentials.username)) return false;
  return credentials.type !== 'password' || credentials.content.length <= longestCredentialCharacters;
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
