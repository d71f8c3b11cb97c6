import { hash } from 'node:crypto';
import { isObject } from '../../lib/json.ts';

/**
 * A UUID made of a JSON value: the same for the same content, however it is spaced and in whatever order its members stand
 * (version 8, RFC 9562 §5.8; the first bits of SHA-256).
 *
 * @throws RangeError when the value nests too deep to be written
 */
export function contentUuid(value: unknown): string {
  const digits = hash('sha256', JSON.stringify(value, inOrder));
  const variant = ((Number.parseInt(digits.charAt(16), 16) & 3) | 8).toString(16);
  return [digits.slice(0, 8), digits.slice(8, 12), `8${digits.slice(13, 16)}`, variant + digits.slice(17, 20), digits.slice(20, 32)].join(
    '-',
  );
}

function inOrder(_name: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
