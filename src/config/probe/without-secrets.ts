import { isObject } from '../../lib/json.ts';
import { mask } from '../../webhooks/payload/payload-extra-data.ts';

/** A shorter text may stand anywhere by chance. */
const shortestSearched = 4;

/** A value without the secrets that an endpoint may have put into its reply, wherever they stand in a text; short ones where they are all of it. */
export function withoutSecrets<T>(value: T, secrets: readonly string[]): T {
  const hidden = secrets.filter((secret) => secret !== '');
  const clean = (part: unknown): unknown => {
    if (typeof part === 'string') return cleanText(part, hidden);
    if (Array.isArray(part)) return part.map(clean);
    if (!isObject(part)) return part;
    return Object.fromEntries(Object.entries(part).map(([name, member]) => [cleanText(name, hidden), clean(member)]));
  };
  return clean(value) as T;
}

function cleanText(text: string, secrets: readonly string[]): string {
  let cleaned = text;
  for (const secret of secrets) {
    if (cleaned === secret) return mask;
    if (secret.length < shortestSearched) continue;
    // A body that is JSON in a text has it with escapes.
    for (const form of new Set([secret, JSON.stringify(secret).slice(1, -1)])) cleaned = cleaned.replaceAll(form, mask);
  }
  return cleaned;
}
