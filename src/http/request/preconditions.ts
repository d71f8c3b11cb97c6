import { eventIds } from '../../events/event-ids.ts';
import type { Entry } from '../../files/entry.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { type ConditionHeaders, evaluateConditions, fileEntityTag, matchesStrongly } from '../../lib/headers/conditional-request.ts';
import { type IfCondition, parseIfHeader } from '../../lib/headers/if-header.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import { type Exchange, header, signedIn } from './exchange.ts';
import { memberOfUrl } from './member-url.ts';

/** Whether a request has conditions. */
export function isConditional({ incoming: { headers } }: Exchange): boolean {
  return headers.if !== undefined || conditionNames.some((name) => headers[name] !== undefined);
}

const conditionNames = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since'] as const;

/**
 * Conditions that are refused for a hidden member, because their result reveals whether it exists. `If` is not refused, because clients
 * must send lock tokens in it. Instead, a hidden member counts as absent when `If` is evaluated.
 */
const tellingNames = ['if-match', 'if-none-match', 'if-unmodified-since'] as const;

/** Returns the ID of the event for a failed change; LOCK has none. */
function failureId(method: string, { target }: Exchange): number | undefined {
  const isFolder = target.kind === 'member' && target.isFolder;
  return {
    PUT: eventIds.uploadFailed,
    DELETE: isFolder ? eventIds.folderRemovalFailed : eventIds.fileRemovalFailed,
    COPY: eventIds.copyFailed,
    MOVE: eventIds.renameFailed,
    MKCOL: eventIds.folderCreationFailed,
  }[method];
}

/** Returns the headers that make a request conditional (RFC 9110 §13). */
export function conditionHeaders(exchange: Exchange): ConditionHeaders {
  return Object.fromEntries(conditionNames.map((name) => [name, header(exchange, name)]));
}

/** Returns the validators of an entry: its strong entity tag and its modification time. */
export function entryValidators(entry: Entry): { etag: string; lastModifiedMs: number } {
  return { etag: fileEntityTag(entry), lastModifiedMs: entry.modifiedMs };
}

/** Method and conditional headers of a request; header names are in lower case. */
interface ConditionalRequest {
  method: string;
  headers: Readonly<Record<string, string | undefined>>;
}

/** Checks the current state of the member. @throws ServiceError `precondition-failed` if a condition is not met */
export type Preconditions = (current: Entry | undefined) => void;

/**
 * Reads the preconditions of a change: `If-Match`, `If-None-Match`, the dates (RFC 9110 §13.2.2), and `If` (RFC 4918 §10.4). Folders have
 * no entity tag.
 *
 * @param asked conditions that replace those of this request
 * @returns a function that checks the preconditions against the current state of the request's own resource. Operations can call it early,
 * and again just before the change takes effect
 * @throws ServiceError `bad-request` for an `If` that is malformed or has a foreign URL, `forbidden` for conditions on a hidden member
 */
export async function preconditions(
  exchange: Exchange,
  path: VirtualPath,
  asked: ConditionalRequest = { method: exchange.method, headers: { ...conditionHeaders(exchange), if: header(exchange, 'if') } },
): Promise<Preconditions> {
  const { files } = signedIn(exchange);
  if (tellingNames.some((name) => asked.headers[name] !== undefined)) files.requireVisible(path, failureId(asked.method, exchange));
  const holds = await ifConditions(exchange, path, asked.headers.if);
  return (current) => {
    const verdict = evaluateConditions({ ...asked, current: validatorsOrNone(current) });
    if (verdict !== 'proceed' || !holds(current)) throw new ServiceError('precondition-failed', 'A precondition of the request failed.');
  };
}

function validatorsOrNone(entry: Entry | undefined): { etag: string; lastModifiedMs: number } | undefined {
  return entry?.isFolder ? { etag: '', lastModifiedMs: entry.modifiedMs } : entry && entryValidators(entry);
}

async function ifConditions(
  exchange: Exchange,
  own: VirtualPath,
  text: string | undefined,
): Promise<(current: Entry | undefined) => boolean> {
  if (text === undefined) return () => true;
  const lists = await Promise.all(
    parseIfHeader(text).map(async ({ resource, conditions }) => {
      const path = resource === undefined ? own : memberOfUrl(exchange, resource).path;
      return { path, conditions, tokens: await lockTokens(exchange, path) };
    }),
  );
  return (current) =>
    lists.some(({ path, conditions, tokens }) => {
      const entry = path !== own ? lookedUp(exchange, path) : signedIn(exchange).files.isVisible(path) ? current : undefined;
      return conditions.every((condition) => isMet(condition, entry, tokens) !== condition.negated);
    });
}

function isMet(condition: IfCondition, entry: Entry | undefined, tokens: ReadonlySet<string>): boolean {
  if (condition.kind === 'token') return tokens.has(condition.value);
  return entry !== undefined && !entry.isFolder && matchesStrongly([condition.value], entryValidators(entry).etag);
}

// A hidden member is treated as absent, because a condition must not reveal that the member exists.
function lookedUp(exchange: Exchange, path: VirtualPath): Entry | undefined {
  try {
    return signedIn(exchange).files.inspect(path);
  } catch (error) {
    if (isServiceError(error, 'forbidden', 'name-reserved', 'in-use')) return undefined;
    throw error;
  }
}

async function lockTokens(exchange: Exchange, path: VirtualPath): Promise<ReadonlySet<string>> {
  try {
    const locks = await signedIn(exchange).files.locksAt(path).covering();
    return new Set(locks.map((lock) => lock.token));
  } catch (error) {
    if (isServiceError(error, 'forbidden', 'name-reserved', 'in-use')) return new Set();
    throw error;
  }
}
