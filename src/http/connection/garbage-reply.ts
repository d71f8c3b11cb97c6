import { systemErrorCode } from '../../lib/errors.ts';
import { statusTitle } from '../reply/error-reply.ts';

/** Largest header section, in bytes (docs/spec/http.md#bad-input). */
export const headerLimitBytes = 16 * 1024;

/** What the codes of Node's parser mean; everything else is a bad request. */
const meanings: Record<string, [number, string]> = {
  HPE_HEADER_OVERFLOW: [431, `The header section is larger than ${headerLimitBytes} bytes.`],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request took too long to arrive.'],
};

/**
 * The reply to bytes that are no HTTP request, as a whole: there is no Node response for it.
 *
 * @param error what the parser reported
 * @param server value of the header `server`
 */
export function garbageReply(error: Error, server: string): { message: string; reply: string } {
  const [status, message] = meanings[systemErrorCode(error) ?? ''] ?? [400, 'The request is not valid HTTP.'];
  const body = JSON.stringify({ errors: [{ message }] });
  const head = [
    `HTTP/1.1 ${status} ${statusTitle(status)}`,
    `Server: ${server}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  return { message, reply: `${head.join('\r\n')}\r\n\r\n${body}` };
}
