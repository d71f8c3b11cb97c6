/** A `string` of the protocol: its length, then its bytes (RFC 4251 §5). */
export function sized(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content as string);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** The `string`s at the beginning of some bytes, at most so many. @throws Error when one is cut off */
export function sizedTexts(bytes: Buffer, most = Number.POSITIVE_INFINITY): Buffer[] {
  const found: Buffer[] = [];
  for (let at = 0; at < bytes.length && found.length < most; ) {
    const end = bytes.length - at < 4 ? Number.POSITIVE_INFINITY : at + 4 + bytes.readUInt32BE(at);
    if (end > bytes.length) throw new Error('it is damaged');
    found.push(bytes.subarray(at + 4, end));
    at = end;
  }
  return found;
}

/** A number as an `mpint`: with a zero in front where the first bit would make it negative. */
export function positive(bytes: Buffer): Buffer {
  return (bytes[0] ?? 0) & 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes;
}

/** Bits of a number written as an `mpint`. */
export function bitsOf(mpint: Buffer | undefined): number {
  const text = mpint?.toString('hex').replace(/^0+/, '') ?? '';
  return text === '' ? 0 : BigInt(`0x${text}`).toString(2).length;
}
