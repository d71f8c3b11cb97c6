/** Encodes values in DER (X.690), as far as certificates and certificate requests need it. */

function element(tag: number, content: Buffer): Buffer {
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content]);
  const size = Buffer.from(length.toString(16).padStart(length > 0xff ? 4 : 2, '0'), 'hex');
  return Buffer.concat([Buffer.from([tag, 0x80 | size.length]), size, content]);
}

export function sequence(...items: Buffer[]): Buffer {
  return element(0x30, Buffer.concat(items));
}

export function setOf(item: Buffer): Buffer {
  return element(0x31, item);
}

/** Encodes a non-negative number. @param bytes the number, without leading zeros */
export function integer(bytes: Buffer): Buffer {
  return element(0x02, (bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes);
}

export const yes = element(0x01, Buffer.from([0xff]));

export function octetString(content: Buffer): Buffer {
  return element(0x04, content);
}

export function bitString(content: Buffer): Buffer {
  return element(0x03, Buffer.concat([Buffer.from([0]), content]));
}

export function utf8(text: string): Buffer {
  return element(0x0c, Buffer.from(text));
}

/** Encodes an object identifier. @param dotted for example `2.5.29.17` */
export function identifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = [first * 40 + second, ...rest.flatMap(baseOf128)];
  return element(0x06, Buffer.from(bytes));
}

function baseOf128(value: number): number[] {
  const digits = [value % 128];
  for (let left = Math.floor(value / 128); left > 0; left = Math.floor(left / 128)) digits.unshift((left % 128) + 128);
  return digits;
}

/** Encodes a time in the form that certificates use until 2049 (RFC 5280 §4.1.2.5). @param ms Unix time in milliseconds */
export function utcTime(ms: number): Buffer {
  const text = new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, '');
  return element(0x17, Buffer.from(text.slice(2), 'latin1'));
}

/** Encodes a value with a context-specific tag. @param isWhole whether the value keeps its own tag inside (EXPLICIT) */
export function tagged(number: number, content: Buffer, isWhole: boolean): Buffer {
  return element((isWhole ? 0xa0 : 0x80) | number, content);
}
