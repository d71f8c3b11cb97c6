import { isObject } from '../../lib/json.ts';
import type { RemoteResult } from '../../lib/remote/remote-endpoint.ts';
import { mask } from '../../webhooks/payload/create-payload.ts';
import type { MethodReport } from '../report-shapes.ts';

/** A shorter text may occur by chance. */
const shortestSearched = 4;

/**
 * A report about an endpoint's reply without the secrets that the reply repeats. What the service says itself is never searched, so that a
 * secret that is an ordinary word hides no word of a message: of a sentence only what it quotes.
 */
export function withoutEchoes(
  report: MethodReport,
  reply: Extract<RemoteResult, { kind: 'reply' }>,
  secrets: readonly string[],
): MethodReport {
  const said = [reply.body.toString('utf8'), reply.reason, ...reply.headers.map(([, value]) => value)];
  const echoed = secrets.filter((secret) => secret !== '' && formsOf(secret).some((form) => said.some((text) => text.includes(form))));
  if (echoed.length === 0) return report;
  const { status_reason, reason, problems, failure, account, warnings } = report;
  return {
    ...report,
    ...(status_reason !== undefined && { status_reason: cleanText(status_reason, echoed) }),
    reason: cleanQuotes(reason, echoed),
    warnings: warnings.map((warning) => cleanQuotes(warning, echoed)),
    ...(problems !== undefined && { problems: clean(problems, (text) => cleanQuotes(text, echoed)) }),
    ...(failure !== undefined && { failure: clean(failure, (text) => cleanText(text, echoed), true) }),
    ...(account && { account: clean(account, (text) => cleanText(text, echoed)) as typeof account }),
  };
}

/** A body with JSON inside a text has the secret with escapes. */
function formsOf(secret: string): string[] {
  return [...new Set([secret, JSON.stringify(secret).slice(1, -1)])];
}

/** @param withNames whether an endpoint chose the names of members, too */
function clean(part: unknown, cleaned: (text: string) => string, withNames = false): unknown {
  if (typeof part === 'string') return cleaned(part);
  if (Array.isArray(part)) return part.map((item) => clean(item, cleaned, withNames));
  if (!isObject(part)) return part;
  const members = Object.entries(part).map(([name, member]) => [withNames ? cleaned(name) : name, clean(member, cleaned, withNames)]);
  return Object.fromEntries(members);
}

/** Long secrets are hidden anywhere in a text, short ones only as the whole of it. */
function cleanText(text: string, secrets: readonly string[]): string {
  let cleaned = text;
  for (const secret of secrets) {
    if (cleaned === secret) return mask;
    if (secret.length >= shortestSearched) for (const form of formsOf(secret)) cleaned = cleaned.replaceAll(form, mask);
  }
  return cleaned;
}

/** A sentence of the service quotes a reply behind its first colon or quotation mark. */
function cleanQuotes(sentence: string, secrets: readonly string[]): string {
  const at = sentence.search(/[:"]/);
  return at < 0 ? sentence : sentence.slice(0, at) + cleanText(sentence.slice(at), secrets);
}
