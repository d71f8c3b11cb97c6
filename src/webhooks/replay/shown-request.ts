import { isSecretHeader } from '../../lib/headers/header-names.ts';
import { shownUrl } from '../../lib/remote/shown-url.ts';
import { withQuery } from '../delivery.ts';
import type { EventHandlerOptions } from '../options.ts';
import type { RenderedPayload } from '../payload/payload.ts';
import { messageId, signatureHeaders, signingKey } from '../signing.ts';
import type { ShownRequest } from './replay-schemas.ts';

/** Whether a header of a handler stands in the configuration word for word: nothing of it came from a variable or a file. */
export type IsLiteral = (name: string, value: string) => boolean;

/** What stands in the place of a secret. */
const masked = '***';

/**
 * The request that a handler would make.
 *
 * @param nowMs time of the signature, Unix time in milliseconds
 * @param isLiteral whether a configured header may be shown unless its name says that it is a secret
 */
export function requestOf(
  { uuid, options }: { uuid: string; options: EventHandlerOptions },
  events: readonly { event: { uuid: string } }[],
  rendered: RenderedPayload,
  nowMs: number,
  isLiteral: IsLiteral,
): ShownRequest {
  const sent: [string, string][] = rendered.contentType === undefined ? [] : [['content-type', rendered.contentType]];
  sent.push(...options.headers.map(([name, value]): [string, string] => [name.toLowerCase(), isLiteral(name, value) ? value : masked]));
  const id = messageId(events.map(({ event }) => event.uuid));
  sent.push(...Object.entries(signatureHeaders(options.signing_secret.map(signingKey), id, nowMs, rendered.body)));
  const headers = Object.fromEntries(sent.map(([name, value]) => [name, isSecretHeader(name) ? masked : value]));
  if (options.username !== '' || options.password !== '') headers.authorization = `Basic ${masked}`;
  const [url = ''] = options.url;
  return {
    handler: uuid,
    method: options.request_method.toUpperCase(),
    url: rendered.query.length > 0 ? withQuery(url.split('?')[0] as string, rendered.query) : shownUrl(url),
    headers,
    body: rendered.body?.toString('utf8') ?? '',
  };
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
