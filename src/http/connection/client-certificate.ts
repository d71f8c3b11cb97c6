import { TLSSocket } from 'node:tls';
import type { Credentials } from '../../auth/credentials.ts';
import type { Exchange } from '../request/exchange.ts';

/**
 * The verified client certificate of the connection as credentials: PEM, the CN as user name
 * (docs/spec/authentication.md#client-certificates).
 *
 * @returns undefined when the client showed none, or it did not verify
 */
export function certificateCredentials(exchange: Exchange): Credentials | undefined {
  const { service, peer } = exchange;
  if (!service.options.tls_client_ca_path) return undefined;
  const { socket } = exchange.incoming;
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  const certificate = socket.getPeerX509Certificate();
  // A session that is resumed goes by what was verified when it began.
  if (!certificate || Date.parse(certificate.validTo) < service.clock.nowMs()) return undefined;
  const commonName = certificate.toLegacyObject().subject.CN;
  if (typeof commonName !== 'string') return undefined;
  return {
    type: 'ssl-certificate',
    username: commonName,
    content: certificate.toString(),
    peer,
    creator: { uuid: service.uuid, type: service.component.type },
    request: exchange.request,
  };
}
