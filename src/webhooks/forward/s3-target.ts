import { createHash, createHmac } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { RemoteEndpoint, RemoteRequest, RemoteResult } from '../../lib/remote/remote-endpoint.ts';
import { escapeXmlQuoted } from '../../lib/xml/xml-writer.ts';
import { recordReply, statusText } from '../recorded-reply.ts';
import { encodedPath, type TargetUrl } from './address.ts';
import { digestPart, hashContent, toldChunks } from './content.ts';
import { FileChanged, type ForwardedFile, type Target, type TargetReceipt, TargetRefusal } from './means.ts';
import type { ForwardOptions } from './options.ts';
import { requireTaken, targetEndpoint } from './put-target.ts';

const mebibyte = 1024 * 1024;

/** Maximum size in bytes of a file that is sent in one request. Larger files are sent in parts. */
const largestPutBytes = 64 * mebibyte;

/**
 * Minimum size in bytes of every part except the last one. Parts are larger if the file would otherwise have more than `maxParts` of them.
 * S3 requires at least 5 MiB.
 */
const leastPartBytes = 16 * mebibyte;
const maxParts = 10_000;

const emptyHash = createHash('sha256').digest('hex');

type Query = readonly (readonly [string, string])[];

interface StorageRequest {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  path: string;
  query?: Query;
  headers?: Record<string, string>;
  body?: RemoteRequest['body'];
  /** SHA-256 of the body in hexadecimal; by default, the SHA-256 of an empty body. */
  bodyHash?: string;
  signal: AbortSignal | undefined;
}

interface Part {
  number: number;
  begin: number;
  end: number;
}

interface StoredPart {
  etag: string;
  sizeBytes: number;
  /** SHA-256 in Base64; empty if the storage has none. */
  checksum: string;
}

/** Sends files to S3-compatible storage. A file above 64 MiB is sent in parts. Parts that an earlier attempt sent are not sent again. */
export class S3Target implements Target {
  readonly #url: TargetUrl;
  readonly #options: ForwardOptions;
  readonly #endpoint: RemoteEndpoint;
  readonly #clock: Clock;
  readonly #base: URL;

  constructor(url: TargetUrl, options: ForwardOptions, dependencies: { clock: Clock; caPem: string | undefined }) {
    this.#url = url;
    this.#options = options;
    this.#clock = dependencies.clock;
    this.#endpoint = targetEndpoint({ ...options, headers: [], username: '', password: '' }, dependencies);
    this.#base = bucketUrl(url.origin.slice('s3://'.length), options);
  }

  async send(segments: readonly string[], file: ForwardedFile, _id: string, signal: AbortSignal | undefined): Promise<TargetReceipt> {
    const path = encodedPath(segments);
    if (file.sizeBytes > largestPutBytes) return this.#sendParts(path, segments.join('/'), file, signal);
    const digest = await digestPart(file, 0, file.sizeBytes, signal);
    const { status, reason } = await this.#put(path, [], file, { begin: 0, end: file.sizeBytes }, digest, signal);
    return { digest: digest.toString('hex'), status, reason };
  }

  /** Sends a file, or a part of a file, with PUT. @returns the reply @throws the errors of `Target.send` */
  async #put(
    path: string,
    query: Query,
    file: ForwardedFile,
    { begin, end }: { begin: number; end: number },
    digest: Buffer,
    signal: AbortSignal | undefined,
  ) {
    let changed: FileChanged | undefined;
    const chunks = async function* () {
      try {
        yield* toldChunks(file, begin, end, digest, signal);
      } catch (error) {
        if (error instanceof FileChanged) changed = error;
        throw error;
      }
    };
    const headers = { 'x-amz-checksum-sha256': digest.toString('base64') };
    const body = { sizeBytes: end - begin, chunks };
    const result = await this.#ask({ method: 'PUT', path, query, headers, body, bodyHash: digest.toString('hex'), signal });
    if (changed) throw changed;
    const reply = this.#taken(result);
    const told = reply.headers.find(([name]) => name === 'x-amz-checksum-sha256')?.[1];
    if (told !== undefined && told !== digest.toString('base64'))
      throw new TargetRefusal(`${statusText(reply)}, but the storage reports a different checksum`, recordReply(reply));
    return reply;
  }

  async #sendParts(path: string, key: string, file: ForwardedFile, signal: AbortSignal | undefined): Promise<TargetReceipt> {
    const known = await this.#unfinished(path, key, signal);
    const upload = known?.upload ?? (await this.#begin(path, signal));
    const whole = createHash('sha256');
    const digests: Buffer[] = [];
    const listed: string[] = [];
    for (const part of splitParts(file.sizeBytes)) {
      const has = known?.parts.get(part.number);
      const sum = createHash('sha256');
      const md5 = has?.checksum === '' ? createHash('md5') : undefined;
      await hashContent([whole, sum, ...(md5 ? [md5] : [])], file, part.begin, part.end, signal);
      const digest = sum.digest();
      digests.push(digest);
      const query: Query = [
        ['partNumber', String(part.number)],
        ['uploadId', upload],
      ];
      const isThere = has !== undefined && isSamePart(has, part, digest, md5?.digest('hex'));
      const etag = isThere ? has.etag : readEtag(await this.#put(path, query, file, part, digest, signal));
      listed.push(
        `<Part><PartNumber>${part.number}</PartNumber><ETag>${escapeXmlQuoted(etag)}</ETag><ChecksumSHA256>${digest.toString('base64')}</ChecksumSHA256></Part>`,
      );
    }
    if (!file.isUnchanged()) {
      await this.#ask({ method: 'DELETE', path, query: [['uploadId', upload]], signal });
      throw new FileChanged('it changed while it was sent');
    }
    const reply = await this.#complete(path, upload, listed, signal);
    const together = `${createHash('sha256').update(Buffer.concat(digests)).digest('base64')}-${digests.length}`;
    const told = xmlText(reply.body.toString('utf8'), 'ChecksumSHA256');
    // If a checksum ends in `-` and the number of parts, it is calculated from the checksums of the parts. Any other checksum covers the
    // whole file, and cannot be compared.
    if (told?.includes('-') && told !== together)
      throw new TargetRefusal(`${statusText(reply)}, but the storage reports a different checksum`, recordReply(reply));
    return { digest: whole.digest('hex'), status: reply.status, reason: reply.reason };
  }

  async #begin(path: string, signal: AbortSignal | undefined): Promise<string> {
    const headers = { 'x-amz-checksum-algorithm': 'SHA256' };
    const reply = this.#taken(await this.#ask({ method: 'POST', path, query: [['uploads', '']], headers, body: '', signal }));
    const upload = xmlText(reply.body.toString('utf8'), 'UploadId');
    if (!upload) throw new TargetRefusal(`${statusText(reply)}, but the reply has no UploadId`, recordReply(reply));
    return upload;
  }

  async #complete(path: string, upload: string, parts: readonly string[], signal: AbortSignal | undefined) {
    const body = `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts.join('')}</CompleteMultipartUpload>`;
    const bodyHash = createHash('sha256').update(body).digest('hex');
    const reply = this.#taken(await this.#ask({ method: 'POST', path, query: [['uploadId', upload]], body, bodyHash, signal }));
    // The storage begins its reply before it joins the parts, so even an error may have status 200.
    const text = reply.body.toString('utf8');
    if (/<Error[\s>]/.test(text)) throw new TargetRefusal(storageFault(reply), recordReply(reply));
    return reply;
  }

  /**
   * Finds the unfinished upload of an earlier attempt, with its parts. Returns undefined if the storage does not list it. Then all parts
   * must be sent.
   */
  async #unfinished(
    path: string,
    key: string,
    signal: AbortSignal | undefined,
  ): Promise<{ upload: string; parts: ReadonlyMap<number, StoredPart> } | undefined> {
    const uploads: Query = [
      ['uploads', ''],
      ['prefix', key],
    ];
    const found = await this.#ask({ method: 'GET', path: '', query: uploads, signal });
    if (found.kind !== 'reply' || found.status !== 200) return undefined;
    const own = xmlItems(found.body.toString('utf8'), 'Upload').filter((item) => xmlText(item, 'Key') === key);
    const upload = own.length === 0 ? undefined : xmlText(own.at(-1) as string, 'UploadId');
    if (!upload) return undefined;
    const parts = new Map<number, StoredPart>();
    for (let marker = '0'; ; ) {
      const query: Query = [
        ['uploadId', upload],
        ['part-number-marker', marker],
      ];
      const reply = await this.#ask({ method: 'GET', path, query, signal });
      if (reply.kind !== 'reply' || reply.status !== 200) return undefined;
      const text = reply.body.toString('utf8');
      for (const item of xmlItems(text, 'Part'))
        parts.set(Number(xmlText(item, 'PartNumber')), {
          etag: xmlText(item, 'ETag') ?? '',
          sizeBytes: Number(xmlText(item, 'Size')),
          checksum: xmlText(item, 'ChecksumSHA256') ?? '',
        });
      const next = xmlText(text, 'NextPartNumberMarker');
      if (xmlText(text, 'IsTruncated') !== 'true' || !next || Number(next) <= Number(marker)) return { upload, parts };
      marker = next;
    }
  }

  #taken(result: RemoteResult): Extract<RemoteResult, { kind: 'reply' }> {
    try {
      return requireTaken(result, this.#clock.nowMs());
    } catch (error) {
      if (!(error instanceof TargetRefusal) || result.kind !== 'reply') throw error;
      throw new TargetRefusal(storageFault(result), error.reply, error.askedWaitMs);
    }
  }

  /** Sends a signed request. `path` is encoded, and relative to the bucket. */
  #ask({ method, path, query = [], headers = {}, body, bodyHash = emptyHash, signal }: StorageRequest): Promise<RemoteResult> {
    const date = amzDate(this.#clock.nowMs());
    const whole = `${this.#base.pathname.replace(/\/$/, '')}${path}` || '/';
    const signed = { ...headers, host: this.#base.host, 'x-amz-content-sha256': bodyHash, 'x-amz-date': date };
    const { access_key_id, secret_access_key, region } = this.#options;
    const proof = authorization(
      { method, path: whole, query, headers: signed, bodyHash },
      { accessKeyId: access_key_id, secretAccessKey: secret_access_key },
      { date, region, service: 's3' },
    );
    const url = `${this.#base.origin}${whole}${query.length === 0 ? '' : `?${canonicalQuery(query)}`}`;
    return this.#endpoint.request({ url, method, headers: {}, finalHeaders: { ...signed, authorization: proof }, body, signal });
  }

  // Status 403 also counts as success. It only means that these credentials cannot list the bucket, and uploads do not need that.
  async ping(signal: AbortSignal | undefined): Promise<string | undefined> {
    const result = await this.#ask({ method: 'HEAD', path: '', signal });
    if (result.kind !== 'reply') return result.message;
    return result.status < 300 || result.status === 403 ? undefined : `${this.#url.origin}: ${statusText(result)}`;
  }

  close(): void {
    this.#endpoint.close();
  }
}

/**
 * Returns the URL of the bucket. With a configured endpoint, the bucket is part of the path. At AWS, it is part of the host name, except
 * for a bucket with a dot in its name: the certificate of AWS does not match such a host name.
 */
function bucketUrl(bucket: string, { endpoint, region }: Pick<ForwardOptions, 'endpoint' | 'region'>): URL {
  if (endpoint !== '') return new URL(`${endpoint.replace(/\/+$/, '')}/${bucket}`);
  return bucket.includes('.')
    ? new URL(`https://s3.${region}.amazonaws.com/${bucket}`)
    : new URL(`https://${bucket}.s3.${region}.amazonaws.com/`);
}

/** Divides a file into parts. The parts depend only on the size, so that they match the parts of an earlier attempt. */
function splitParts(sizeBytes: number): Part[] {
  const partBytes = Math.max(leastPartBytes, Math.ceil(sizeBytes / maxParts / mebibyte) * mebibyte);
  return Array.from({ length: Math.ceil(sizeBytes / partBytes) }, (_, index) => {
    const begin = index * partBytes;
    return { number: index + 1, begin, end: Math.min(begin + partBytes, sizeBytes) };
  });
}

/**
 * Whether a stored part has the same content as the part of the file. Compares the checksums. If the storage has no checksum, compares the
 * ETag, which is usually the MD5.
 */
function isSamePart({ etag, sizeBytes, checksum }: StoredPart, { begin, end }: Part, digest: Buffer, md5: string | undefined): boolean {
  if (sizeBytes !== end - begin) return false;
  return checksum === '' ? etag.replaceAll('"', '').toLowerCase() === md5 : checksum === digest.toString('base64');
}

function readEtag(reply: Extract<RemoteResult, { kind: 'reply' }>): string {
  const etag = reply.headers.find(([name]) => name === 'etag')?.[1];
  if (etag === undefined) throw new TargetRefusal(`${statusText(reply)}, but the part has no ETag`, recordReply(reply));
  return etag;
}

function storageFault(reply: Extract<RemoteResult, { kind: 'reply' }>): string {
  const text = reply.body.toString('utf8');
  const said = [xmlText(text, 'Code'), xmlText(text, 'Message')].filter(Boolean).join(': ');
  return said === '' ? statusText(reply) : `${statusText(reply)} (${said.slice(0, 500)})`;
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Returns the contents of all elements with the given name in an S3 reply. Elements with the same name are never nested there. */
function xmlItems(text: string, name: string): string[] {
  const items: string[] = [];
  for (let at = 0; ; ) {
    const begin = text.indexOf(`<${name}>`, at);
    const end = begin < 0 ? -1 : text.indexOf(`</${name}>`, begin);
    if (end < 0) return items;
    items.push(text.slice(begin + name.length + 2, end));
    at = end;
  }
}

/** Returns the text of the first element with the given name; undefined if there is none. */
function xmlText(text: string, name: string): string | undefined {
  const begin = text.indexOf(`<${name}>`);
  const end = begin < 0 ? -1 : text.indexOf(`</${name}>`, begin);
  if (end < 0) return undefined;
  return text
    .slice(begin + name.length + 2, end)
    .replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]+));/gi, (whole, decimal, hex, entity) => {
      if (entity !== undefined) return entities[String(entity).toLowerCase()] ?? whole;
      const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
      return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
    });
}

interface AwsKeys {
  accessKeyId: string;
  secretAccessKey: string;
}

interface SignedRequest {
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
function canonicalQuery(query: SignedRequest['query']): string {
  const encode = (text: string) =>
    encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
  const pairs = query.map(([name, value]) => [encode(name), encode(value)] as const);
  const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);
  return pairs
    .sort(([name, value], [otherName, otherValue]) => compare(name, otherName) || compare(value, otherValue))
    .map((pair) => pair.join('='))
    .join('&');
}
