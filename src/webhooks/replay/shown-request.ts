import { isSecretHeader } from '../../lib/headers/header-fields.ts';
import { redactedUrl } from '../../lib/remote/redacted-url.ts';
import { withQuery } from '../delivery.ts';
import type { EventHandlerOptions } from '../options.ts';
import type { OutgoingEvent, RenderedPayload } from '../payload/payload.ts';
import { mask } from '../payload/payload-extra-data.ts';
import { messageId, signatureHeaders, signingKey } from '../signing.ts';
import { maskSecrets } from './recorded-requests.ts';
import type { ShownRequest } from './replay-schemas.ts';

/**
 * The request that a handler would make, its secrets masked.
 *
 * @param nowMs time of the signature, Unix time in milliseconds
 */
export function describeRequest(
  { uuid, options }: { uuid: string; options: EventHandlerOptions },
  events: readonly OutgoingEvent[],
  rendered: RenderedPayload,
  nowMs: number,
): ShownRequest {
  const [url = ''] = options.url;
  const { query, body } = maskSecrets(rendered, events);
  return {
    handler: uuid,
    method: options.request_method.toUpperCase(),
    url: query.length > 0 ? withQuery(url.split('?')[0] as string, query) : redactedUrl(url),
    headers: shownHeaders(
      options,
      events.map(({ event }) => event.uuid),
      rendered,
      nowMs,
    ),
    body: body?.toString('utf8') ?? '',
  };
}

/** The headers of a request: of those that the configuration sets only the names, and Content-Type. @param uuids of its events */
export function shownHeaders(
  options: EventHandlerOptions,
  uuids: readonly string[],
  { contentType, body }: Pick<RenderedPayload, 'contentType' | 'body'>,
  nowMs: number,
): Record<string, string> {
  const sent: [string, string][] = contentType === undefined ? [] : [['content-type', contentType]];
  const configured = options.headers.map(([name, value]): [string, string] => [name.toLowerCase(), value]);
  sent.push(...configured.map(([name, value]): [string, string] => [name, name === 'content-type' ? value : mask]));
  sent.push(...Object.entries(signatureHeaders(options.signing_secret.map(signingKey), messageId(uuids), nowMs, body)));
  const headers = Object.fromEntries(sent.map(([name, value]) => [name, isSecretHeader(name) ? mask : value]));
  if (options.username !== '' || options.password !== '') headers.authorization = `Basic ${mask}`;
  return headers;
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
