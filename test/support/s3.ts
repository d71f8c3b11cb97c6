import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { authorization } from '../../src/webhooks/forward/s3-target.ts';

export const s3Keys = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };

/** A storage with the part of S3 that uploads need. It checks every signature and checksum. */
export interface Storage {
  endpoint: string;
  objects: Map<string, Buffer>;
  /** Unfinished uploads by ID, with their key, and their parts by number. */
  uploads: Map<string, { key: string; parts: Map<number, Buffer> }>;
  /** Method and URL of each request so far. */
  asked: string[];
  /** Called before each request is handled; returns true if it has answered the request. */
  fault?: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
}

const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest();

export async function startStorage(t: TestContext, region = 'us-east-1'): Promise<Storage> {
  const storage: Storage = { endpoint: '', objects: new Map(), uploads: new Map(), asked: [] };
  const server = createServer((request, response) => {
    storage.asked.push(`${request.method} ${request.url}`);
    if (storage.fault?.(request, response)) return;
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => {});
    request.on('end', () => answer(storage, region, request, response, Buffer.concat(chunks)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  storage.endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return storage;
}

function answer(storage: Storage, region: string, request: IncomingMessage, response: ServerResponse, body: Buffer): void {
  const refuse = (status: number, code: string) =>
    response
      .writeHead(status, { 'content-type': 'application/xml' })
      .end(`<Error><Code>${code}</Code><Message>No &amp; never.</Message></Error>`);
  const [path = '', queryText = ''] = (request.url ?? '').split('?');
  const query = queryText
    .split('&')
    .filter(Boolean)
    .map((pair) => pair.split('=').map(decodeURIComponent) as [string, string]);
  const parameters = new Map(query.map(([name, value = '']) => [name, value]));
  const fault = signatureFault(request, path, [...parameters], region, body);
  if (fault !== undefined) return void refuse(403, fault);
  const checksum = request.headers['x-amz-checksum-sha256'];
  if (checksum !== undefined && checksum !== sha256(body).toString('base64')) return void refuse(400, 'BadDigest');
  const key = decodeURIComponent(path).replace(/^\/[^/]+\/?/, '');
  const upload = parameters.get('uploadId');
  const xml = (text: string) => response.writeHead(200, { 'content-type': 'application/xml' }).end(text);
  const escaped = (text: string) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;');
  if (request.method === 'HEAD') return void response.writeHead(200).end();
  if (parameters.has('uploads') && request.method === 'POST') {
    const id = `upload-${storage.uploads.size + 1}`;
    storage.uploads.set(id, { key, parts: new Map() });
    return void xml(`<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`);
  }
  if (parameters.has('uploads')) {
    const items = [...storage.uploads].map(([id, one]) => `<Upload><Key>${escaped(one.key)}</Key><UploadId>${id}</UploadId></Upload>`);
    return void xml(`<ListMultipartUploadsResult>${items.join('')}</ListMultipartUploadsResult>`);
  }
  const open = upload === undefined ? undefined : storage.uploads.get(upload);
  if (upload !== undefined && open?.key !== key) return void refuse(404, 'NoSuchUpload');
  const etag = (bytes: Buffer) => `"${createHash('md5').update(bytes).digest('hex')}"`;
  if (open && request.method === 'GET') {
    const from = Number(parameters.get('part-number-marker') ?? 0);
    const parts = [...open.parts].sort(([a], [b]) => a - b).filter(([number]) => number > from);
    const shown = parts.slice(0, 2);
    const items = shown.map(
      ([number, bytes]) =>
        `<Part><PartNumber>${number}</PartNumber><ETag>${escaped(etag(bytes))}</ETag><Size>${bytes.length}</Size></Part>`,
    );
    const last = shown.at(-1)?.[0] ?? 0;
    return void xml(
      `<ListPartsResult><NextPartNumberMarker>${last}</NextPartNumberMarker><IsTruncated>${shown.length < parts.length}</IsTruncated>${items.join('')}</ListPartsResult>`,
    );
  }
  if (open && request.method === 'DELETE') {
    storage.uploads.delete(upload as string);
    return void response.writeHead(204).end();
  }
  if (open && request.method === 'PUT') {
    open.parts.set(Number(parameters.get('partNumber')), body);
    return void response.writeHead(200, { etag: etag(body) }).end();
  }
  if (open) {
    const listed = [...body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>([^<]*)<\/ETag>/g)];
    const parts = listed.map(([, number, tag]) => ({ bytes: open.parts.get(Number(number)) ?? Buffer.alloc(0), tag }));
    if (parts.some(({ bytes, tag }) => etag(bytes) !== tag?.replaceAll('&quot;', '"'))) return void refuse(400, 'InvalidPart');
    storage.uploads.delete(upload as string);
    storage.objects.set(key, Buffer.concat(parts.map(({ bytes }) => bytes)));
    const together = sha256(Buffer.concat(parts.map(({ bytes }) => sha256(bytes)))).toString('base64');
    return void xml(
      `<CompleteMultipartUploadResult><ChecksumSHA256>${together}-${parts.length}</ChecksumSHA256></CompleteMultipartUploadResult>`,
    );
  }
  if (request.method === 'PUT') {
    storage.objects.set(key, body);
    return void response.writeHead(200, { etag: etag(body), 'x-amz-checksum-sha256': sha256(body).toString('base64') }).end();
  }
  refuse(400, 'InvalidRequest');
}

/** Returns the reason why a signature is not valid, or undefined if it is valid. */
export function signatureFault(
  { method = '', headers }: IncomingMessage,
  path: string,
  query: readonly (readonly [string, string])[],
  region: string,
  body: Buffer,
): string | undefined {
  const names = /SignedHeaders=([^,]*)/.exec(headers.authorization ?? '')?.[1]?.split(';') ?? [];
  if (!names.includes('host') || !names.includes('x-amz-date')) return 'AccessDenied';
  const bodyHash = String(headers['x-amz-content-sha256']);
  if (bodyHash !== 'UNSIGNED-PAYLOAD' && bodyHash !== sha256(body).toString('hex')) return 'XAmzContentSHA256Mismatch';
  const signed = Object.fromEntries(names.map((name) => [name, String(headers[name])]));
  const date = String(headers['x-amz-date']);
  const expected = authorization({ method, path, query, headers: signed, bodyHash }, s3Keys, { date, region, service: 's3' });
  const strip = (text: string) => text.replace(/\s/g, '');
  return strip(expected) === strip(headers.authorization ?? '') ? undefined : 'SignatureDoesNotMatch';
}
