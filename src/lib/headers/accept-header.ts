/** Number of characters after which the rest of a header is ignored. No browser sends a longer header. */
const maxHeaderCharacters = 1000;

/**
 * Chooses a language according to `Accept-Language` (RFC 9110 §12.5.4, RFC 4647 §3.4 lookup).
 *
 * @param acceptLanguage the header's value
 * @param offers the available languages as primary subtags (`en`), preferred ones first
 * @returns `tag` is the chosen offer. `range` is the requested language with its region (`de-AT`), or the offer if no region was requested
 */
export function preferredLanguage(acceptLanguage: string | undefined, offers: readonly string[]): { tag: string; range: string } {
  const fallback = offers[0] ?? 'en';
  let best = { tag: fallback, range: fallback, quality: 0 };
  for (const element of (acceptLanguage ?? '').slice(0, maxHeaderCharacters).split(',')) {
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

/** An element of a header such as `Accept`, and its weight (RFC 9110 §12.4.2). */
interface Weighed {
  value: string;
  hasParameters: boolean;
  quality: number;
}

/** Parses a header whose elements have `q` weights. Malformed elements are left out. */
function weighedElements(text: string): Weighed[] {
  return text.split(',').flatMap((element) => {
    const [rawValue, ...parameters] = element.split(';').map((part) => part.trim());
    const value = (rawValue ?? '').toLowerCase();
    const weight = parameters.find((parameter) => /^q=/i.test(parameter));
    const quality = weight === undefined ? 1 : Number(weight.slice(2));
    const isWeight = weight === undefined || /^q=(0(\.\d{0,3})?|1(\.0{0,3})?)$/i.test(weight);
    return value === '' || !isWeight ? [] : [{ value, quality, hasParameters: parameters.length > (weight === undefined ? 0 : 1) }];
  });
}

/**
 * Finds the quality of an offered type from the most specific range (RFC 9110 §12.5.1). A range with parameters, such as `application/json;
 * charset=utf-8`, also matches, because each offer has only one variant. The same range without parameters has priority.
 */
function findQuality(elements: readonly Weighed[], type: string): { quality: number; specificity: number } {
  const [main] = type.split('/');
  let best = { quality: 0, specificity: -1, rank: -1 };
  for (const element of elements) {
    const specificity = element.value === type ? 2 : element.value === `${main}/*` ? 1 : element.value === '*/*' ? 0 : -1;
    if (specificity < 0) continue;
    const rank = 2 * specificity + (element.hasParameters ? 0 : 1);
    const { quality } = element;
    if (rank > best.rank || (rank === best.rank && quality > best.quality)) best = { quality, specificity, rank };
  }
  return best;
}

/**
 * Chooses a media type according to `Accept` (RFC 9110 §12.5.1).
 *
 * @param offers the available types in lower case, preferred ones first
 * @returns the offer with the highest quality. If several have it, the more specific range decides, then the order. Undefined if no offer
 *   is acceptable or the header is absent
 */
export function preferredType(accept: string | undefined, offers: readonly string[]): string | undefined {
  if (accept === undefined) return undefined;
  const elements = weighedElements(accept);
  let best: { offer: string; quality: number; specificity: number } | undefined;
  for (const offer of offers) {
    const { quality, specificity } = findQuality(elements, offer);
    if (quality === 0) continue;
    if (!best || quality > best.quality || (quality === best.quality && specificity > best.specificity))
      best = { offer, quality, specificity };
  }
  return best?.offer;
}

/** Whether `Accept` names exactly this type, with a quality above 0. Wildcards do not count. */
export function namesType(accept: string | undefined, type: string): boolean {
  return accept !== undefined && weighedElements(accept).some((element) => element.value === type && element.quality > 0);
}

/** Whether `Accept-Encoding` allows a coding (RFC 9110 §12.5.3). An element for the coding itself takes precedence over `*`. */
export function takesCoding(acceptEncoding: string | undefined, coding: string): boolean {
  if (acceptEncoding === undefined) return false;
  const elements = weighedElements(acceptEncoding);
  const element = elements.find(({ value }) => value === coding) ?? elements.find(({ value }) => value === '*');
  return element !== undefined && element.quality > 0;
}
