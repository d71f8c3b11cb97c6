import type { Credentials } from './credentials.ts';

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
