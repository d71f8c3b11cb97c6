import { createHash, createHmac, createPrivateKey, type KeyObject, sign } from 'node:crypto';

function base64url(value: object | string): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
}

/** A signed message of ACME, which is a JWS in flattened JSON (RFC 7515 §7.2.2). */
export interface SignedMessage {
  protected: string;
  payload: string;
  signature: string;
}

/** The key of an ACME account. It is an ECDSA P-256 key, and its signatures use ES256 (RFC 7518 §3.4). */
export class AccountKey {
  readonly #key: KeyObject;
  /** The public key, with its members in the order of RFC 7638 §3.3. */
  readonly jwk: { crv: string; kty: string; x: string; y: string };

  /** @param pem the private key @throws Error if it is not a P-256 key */
  constructor(pem: string) {
    this.#key = createPrivateKey(pem);
    const { crv = '', kty = '', x = '', y = '' } = this.#key.export({ format: 'jwk' });
    if (crv !== 'P-256') throw new Error('the key of an ACME account must be of the curve P-256');
    this.jwk = { crv, kty, x, y };
  }

  /** Returns the answer to a challenge (RFC 8555 §8.1). */
  keyAuthorization(token: string): string {
    return `${token}.${createHash('sha256').update(JSON.stringify(this.jwk)).digest('base64url')}`;
  }

  /** @param payload empty for a request that only reads (POST-as-GET) */
  sign(header: object, payload: object | ''): SignedMessage {
    const [head, body] = [base64url({ alg: 'ES256', ...header }), base64url(payload)];
    const signature = sign('sha256', Buffer.from(`${head}.${body}`), { key: this.#key, dsaEncoding: 'ieee-p1363' });
    return { protected: head, payload: body, signature: signature.toString('base64url') };
  }

  /**
   * Returns the message that binds this ACME account to an account that already exists at the authority (RFC 8555 §7.3.4).
   *
   * @param hmacKey in base64url
   * @param url URL of the resource that creates accounts
   */
  bind({ keyId, hmacKey }: { keyId: string; hmacKey: string }, url: string): SignedMessage {
    const [head, body] = [base64url({ alg: 'HS256', kid: keyId, url }), base64url(this.jwk)];
    const signature = createHmac('sha256', Buffer.from(hmacKey, 'base64url')).update(`${head}.${body}`).digest('base64url');
    return { protected: head, payload: body, signature };
  }
}
