import { shownUrl, withQuery } from '../webhooks/delivery.ts';
import type { RenderedPayload } from '../webhooks/payload.ts';
import { messageId, signatureHeaders, signingKey } from '../webhooks/signing.ts';
import type { SentEvent, WebhookHandler } from '../webhooks/webhook-handler.ts';

/** A request for people's eyes: what would be sent, secrets masked. */
export interface ShownRequest {
  handler: string;
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string;
}

/** Values of these headers are no secrets. */
const openHeaders = new Set(['accept', 'content-type', 'user-agent', 'soapaction']);

/**
 * The request that a handler would make.
 *
 * @param nowMs time of the signature, Unix time in milliseconds
 */
export function requestOf(handler: WebhookHandler, events: readonly SentEvent[], rendered: RenderedPayload, nowMs: number): ShownRequest {
  const { options } = handler;
  const headers: Record<string, string> = {};
  if (rendered.contentType !== undefined) headers['content-type'] = rendered.contentType;
  for (const [name, value] of options.headers) headers[name.toLowerCase()] = openHeaders.has(name.toLowerCase()) ? value : '***';
  if (options.username !== '' || options.password !== '') headers.authorization = 'Basic ***';
  const id = messageId(events.map(({ event }) => event.uuid));
  Object.assign(headers, signatureHeaders(options.signing_secret.map(signingKey), id, nowMs, rendered.body));
  const [url = ''] = options.url;
  return {
    handler: handler.uuid,
    method: options.request_method.toUpperCase(),
    url: rendered.query.length > 0 ? withQuery(url.split('?')[0] as string, rendered.query) : shownUrl(url),
    headers,
    body: rendered.body?.toString('utf8') ?? '',
  };
}

/** A request as it goes over the wire, in one text. */
export function requestText({ method, url, headers, body }: ShownRequest): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\n`);
  return `${method} ${url}\n${lines.join('')}\n${body}\n`;
}

/** What of a request is compared by `--diff`: JSON in many lines, so that differences are small. */
export function comparedText(method: string, rendered: Pick<RenderedPayload, 'contentType' | 'query' | 'body'>): string {
  const query = rendered.query.map(([name, value]) => `?${name}=${value}\n`).join('');
  const type = rendered.contentType === undefined ? '' : `content-type: ${rendered.contentType}\n`;
  return `${method}\n${query}${type}\n${prettyJson(rendered.body?.toString('utf8') ?? '')}`;
}

function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text.replaceAll('><', '>\n<');
  }
}
