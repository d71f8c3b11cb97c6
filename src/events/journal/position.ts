/** A position in the journal. */
export interface LogPosition {
  segment: number;
  /** Bytes from the start of the segment. */
  offset: number;
}

const positionText = /^(\d{1,15}):(\d{1,15})$/;

/** Formats a position, for example `00000001:12345`. */
export function formatPosition(position: LogPosition): string {
  return `${String(position.segment).padStart(8, '0')}:${position.offset}`;
}

/** Parses the text of `formatPosition`. @returns undefined for any other text */
export function parsePosition(text: string): LogPosition | undefined {
  const match = positionText.exec(text);
  return match ? { segment: Number(match[1]), offset: Number(match[2]) } : undefined;
}

/** Compares two positions, for sorting. */
export function comparePositions(first: LogPosition, second: LogPosition): number {
  return first.segment - second.segment || first.offset - second.offset;
}
