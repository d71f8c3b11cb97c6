/** A position in the journal. */
export interface LogPosition {
  segment: number;
  /** Offset from the start of the segment, in bytes. */
  offset: number;
}

const positionText = /^(\d{1,15}):(\d{1,15})$/;

/** Formats a position as text, for example `00000001:12345`. */
export function formatPosition(position: LogPosition): string {
  return `${String(position.segment).padStart(8, '0')}:${position.offset}`;
}

/** Parses a position that `formatPosition` wrote. @returns undefined for any other text */
export function parsePosition(text: string): LogPosition | undefined {
  const match = positionText.exec(text);
  return match ? { segment: Number(match[1]), offset: Number(match[2]) } : undefined;
}

/**
 * Compares two positions. @returns a negative number if the first comes before the second; 0 if they are equal; otherwise a positive number
 */
export function comparePositions(first: LogPosition, second: LogPosition): number {
  return first.segment - second.segment || first.offset - second.offset;
}
