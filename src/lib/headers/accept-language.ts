/** Longest header that is looked at: more is not from a browser. */
const longestHeader = 1000;

/**
 * Chooses a language by `Accept-Language` (RFC 9110 §12.5.4, RFC 4647 §3.4 lookup).
 *
 * @param acceptLanguage the header's value
 * @param offers our languages as primary subtags (`en`), best first
 * @returns the offer, and the range that named it (`de-AT`) when it is a language with a region, else the offer itself
 */
export function preferredLanguage(acceptLanguage: string | undefined, offers: readonly string[]): { tag: string; range: string } {
  const fallback = offers[0] ?? 'en';
  let best = { tag: fallback, range: fallback, quality: 0 };
  for (const element of (acceptLanguage ?? '').slice(0, longestHeader).split(',')) {
    const match = /^\s*([a-z]{1,8}|\*)(-[a-z0-9]{1,8})*\s*(?:;\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?\s*$/i.exec(element);
    if (!match) continue;
    const quality = match[3] === undefined ? 1 : Number(match[3]);
    const primary = (match[1] as string).toLowerCase();
    const tag = primary === '*' ? fallback : primary;
    if (quality <= best.quality || !offers.includes(tag)) continue;
    const region = /^[a-z]{2,3}-([a-z]{2})\b/i.exec(element.trim())?.[1];
    best = { tag, range: region === undefined || primary === '*' ? tag : `${tag}-${region.toUpperCase()}`, quality };
  }
  return { tag: best.tag, range: best.range };
}
