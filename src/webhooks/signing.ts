import { createHash, createHmac } from 'node:crypto';

/**
 * Returns the key of a signing secret (Standard Webhooks, "Signature scheme"). Base64, with or without `whsec_`, is decoded. Other text is
 * used as it is.
 */
export function signingKey(secret: string): Buffer {
  const text = secret.replace(/^whsec_/, '');
  const isBase64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text);
  return isBase64 ? Buffer.from(text, 'base64') : Buffer.from(secret, 'utf8');
}

/**
 * Returns the `webhook-id` of a request. It is the event's UUID, or for several events a digest of their UUIDs. The same events always have
 * the same ID.
 */
export function messageId(uuids: readonly string[]): string {
  const [only] = uuids;
  if (uuids.length === 1 && only !== undefined) return only;
  return `batch_${createHash('sha256').update(uuids.join('\n')).digest('base64url').slice(0, 27)}`;
}

/**
 * Returns the headers of Standard Webhooks (https://www.standardwebhooks.com), with one signature for each secret.
 *
 * @param secrets several during a rotation. A receiver accepts a request if any signature matches
 * @param nowMs time of the attempt, Unix time in milliseconds
 */
export function signatureHeaders(secrets: readonly Buffer[], id: string, nowMs: number, body: Buffer | undefined): Record<string, string> {
  if (secrets.length === 0) return {};
  const timestamp = String(Math.floor(nowMs / 1000));
  const signatures = secrets.map((key) => {
    const mac = createHmac('sha256', key).update(`${id}.${timestamp}.`);
    if (body) mac.update(body);
    return `v1,${mac.digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
