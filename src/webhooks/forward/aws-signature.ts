import { createHash, createHmac } from 'node:crypto';

/** The keys of an account at a storage service. */
export interface AwsKeys {
  accessKeyId: string;
  secretAccessKey: string;
}

/** A request to be signed. */
export interface SignedRequest {
  method: string;
  /** The path in the percent-encoded form in which it is sent. */
  path: string;
  query: readonly (readonly [name: string, value: string])[];
  /** All signed headers, including `host`. Names are in lower case. */
  headers: Readonly<Record<string, string>>;
  /** SHA-256 of the body, in hexadecimal. */
  bodyHash: string;
}

const algorithm = 'AWS4-HMAC-SHA256';

/** Formats a time for a signature, such as `20130524T000000Z`. @param nowMs Unix time in milliseconds */
export function amzDate(nowMs: number): string {
  return new Date(nowMs).toISOString().replace(/[-:]|\.\d{3}/g, '');
}

/**
 * Returns the `Authorization` header with a version 4 signature
 * (https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html).
 *
 * @param date result of `amzDate`; must equal the header `x-amz-date`
 */
export function authorization(
  { method, path, query, headers, bodyHash }: SignedRequest,
  { accessKeyId, secretAccessKey }: AwsKeys,
  { date, region, service }: { date: string; region: string; service: string },
): string {
  const names = Object.keys(headers).sort();
  const lines = names.map((name) => `${name}:${(headers[name] as string).trim().replace(/\s+/g, ' ')}\n`).join('');
  const signed = names.join(';');
  const canonical = [method, path, canonicalQuery(query), lines, signed, bodyHash].join('\n');
  const scope = `${date.slice(0, 8)}/${region}/${service}/aws4_request`;
  const toSign = [algorithm, date, scope, createHash('sha256').update(canonical).digest('hex')].join('\n');
  const key = [date.slice(0, 8), region, service, 'aws4_request'].reduce<string | Buffer>(
    (secret, part) => createHmac('sha256', secret).update(part).digest(),
    `AWS4${secretAccessKey}`,
  );
  const signature = createHmac('sha256', key).update(toSign).digest('hex');
  return `${algorithm} Credential=${accessKeyId}/${scope}, SignedHeaders=${signed}, Signature=${signature}`;
}

/** Returns a query in the form in which it is sent and signed: encoded, and sorted by name and value. */
export function canonicalQuery(query: SignedRequest['query']): string {
  const encode = (text: string) =>
    encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
  const pairs = query.map(([name, value]) => [encode(name), encode(value)] as const);
  const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);
  return pairs
    .sort(([name, value], [otherName, otherValue]) => compare(name, otherName) || compare(value, otherValue))
    .map((pair) => pair.join('='))
    .join('&');
}
