import type { RemoteResult } from '../../lib/remote/remote-endpoint.ts';

/** A 401 body longer than this is no short text. */
const shortTextBytes = 200;

/** A reply that takes more than this part of the timeout will one day take more than all of it. */
const slowPart = 0.5;

/**
 * What works, or fails, in a way that surprises: for the developer of an endpoint, not for logins.
 *
 * @param timeoutMs the method's timeout
 */
export function replyWarnings(result: RemoteResult, timeoutMs: number): string[] {
  const warnings: string[] = [];
  if (result.durationMs > timeoutMs * slowPart)
    warnings.push(`the reply took ${(result.durationMs / 1000).toFixed(1)} s of the ${timeoutMs / 1000} s allowed`);
  if (result.kind !== 'reply') return warnings;
  const { status, body } = result;
  const header = (name: string) => result.headers.find(([key]) => key.toLowerCase() === name)?.[1];
  const type = header('content-type') ?? '';
  const text = body.subarray(0, 512).toString('utf8').trimStart();
  if (status >= 300 && status < 400)
    warnings.push(`redirects are not followed (Location: ${header('location') ?? 'none'}); configure the final URL`);
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf)
    warnings.push('the body begins with a byte order mark, which JSON must not have');
  if (/^text\/html/i.test(type) || /^<(!doctype|html)/i.test(text))
    warnings.push('the body is an HTML page: a login page or a gateway may stand in front of the endpoint');
  else if (status === 200 && body.length > 0 && !/^application\/(.+\+)?json/i.test(type))
    warnings.push(`the content type of the 200 reply is "${type}"; application/json is expected`);
  if (status === 401 && body.length > shortTextBytes) warnings.push(`the 401 body has ${body.length} bytes; a short text is expected`);
  if (status === 404 || status === 405)
    warnings.push('the status looks like a wrong path or method; the endpoint must take POST at exactly this URL');
  return warnings;
}
