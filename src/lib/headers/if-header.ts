import { ServiceError } from '../errors.ts';

export interface IfCondition {
  negated: boolean;
  kind: 'token' | 'etag';
  /** The token without its angle brackets, or the entity tag as it was sent. */
  value: string;
}

/** Conditions for one resource. All of them must be met. */
interface IfList {
  /** The URL of the resource as it was sent; undefined if the list applies to the resource of the request. */
  resource: string | undefined;
  conditions: IfCondition[];
}

const maxConditions = 200;

/**
 * Parses an `If` header (RFC 4918 §10.4). The header is met if at least one of its lists is met.
 *
 * @throws ServiceError `bad-request` if the header does not match the grammar, or has too many conditions
 */
export function parseIfHeader(text: string): IfList[] {
  const lists: IfList[] = [];
  let rest = text.trim();
  let resource: string | undefined;
  let count = 0;
  while (rest !== '') {
    const tag = /^<([^<>\s]+)>\s*/.exec(rest);
    if (tag) {
      // Tagged and untagged lists must not be mixed, and at least one list must follow each tag.
      if (resource === undefined && lists.length > 0) throw malformed();
      resource = tag[1] as string;
      rest = rest.slice(tag[0].length);
    }
    const list = /^\(((?:[^()"<>]|<[^<>]*>|"[^"]*")*)\)\s*/.exec(rest);
    if (!list) throw malformed();
    const conditions = parseConditions(list[1] as string);
    count += conditions.length;
    if (count > maxConditions) throw malformed();
    lists.push({ resource, conditions });
    rest = rest.slice(list[0].length);
  }
  if (lists.length === 0) throw malformed();
  return lists;
}

function parseConditions(text: string): IfCondition[] {
  const conditions: IfCondition[] = [];
  let rest = text.trim();
  while (rest !== '') {
    const match = /^(not\s*)?(?:<([^<>\s]+)>|\[\s*((?:W\/)?"[^"]*")\s*\])\s*/i.exec(rest);
    if (!match) throw malformed();
    const [whole, not, token, etag] = match;
    conditions.push({
      negated: not !== undefined,
      ...(token === undefined ? { kind: 'etag', value: etag as string } : { kind: 'token', value: token }),
    });
    rest = rest.slice(whole.length);
  }
  if (conditions.length === 0) throw malformed();
  return conditions;
}

/** Returns all lock tokens that a header submits (RFC 4918 §10.4.1). */
export function submittedTokens(lists: readonly IfList[]): Set<string> {
  return new Set(lists.flatMap((list) => list.conditions.flatMap((item) => (item.kind === 'token' ? [item.value] : []))));
}

function malformed(): ServiceError {
  return new ServiceError('bad-request', 'The If header is not understood.');
}
