import { memoizeForTick } from '../lib/concurrency/event-loop.ts';
import { compileExpression, type Expression } from '../lib/expression.ts';
import type { VirtualPath } from '../lib/virtual-path.ts';
import { type Narrowing, placeIn } from './narrowing.ts';
import { longestCredentialCharacters, userForPath, userVariable } from './user-names.ts';

/** The longest replacement of `${USER}`, with `\` before each special character (`expandUserInExpression`). */
const longestName = '\\x'.repeat(longestCredentialCharacters);

/** Matches one part of a regular expression: an escape, a class, flags, a counted repetition such as `{2,5}`, or a single character. */
const token =
  /\\Q[\s\S]*?(?:\\E|$)|\\[pPx]\{[^}]*\}|\\[\s\S]|\[\^?\]?(?:\[:\^?\w+:\]|\\[\s\S]|[^\]\\])*\]|\(\?[A-Za-z-]*\)|\{(\d+)(,(\d*))?\}|[\s\S]/gu;

/** A class such as `\p{L}` is one step, but takes as long to compile as this many other steps. */
const unicodeClassCost = 20;

/**
 * Estimates how many steps an expression (expression.ts) takes for each character of a text. Globs of plain characters and `*` cost almost
 * nothing and count as 0. The cost is checked before an expression is compiled, because the time for compiling is proportional to the cost.
 */
export function expressionCost(source: string): number {
  const bare = source
    .replaceAll(userVariable, longestName)
    .trim()
    .replace(/^(?:!\s*)+/, '');
  if (/^[em]\//.test(bare)) return regularExpressionCost(bare);
  return /[?[]/.test(bare) ? bare.length : 0;
}

function regularExpressionCost(text: string): number {
  /** Sizes of the expression and of each group that has begun but not ended. */
  const open = [0];
  /** Size of the part that a repetition at this point would repeat. It is not yet included in `open`. */
  let last = 0;
  const add = (size: number) => {
    open[open.length - 1] = (open.at(-1) ?? 0) + last;
    last = size;
  };
  for (const [part, least, range, most] of text.matchAll(token)) {
    if (least !== undefined) last = (last + 1) * Math.max(Number(least) + (range === undefined ? 0 : 1), Number(most || 0), 1);
    else if (part === '(') {
      add(0);
      open.push(0);
    } else if (part === ')' && open.length > 1) {
      add(0);
      last = (open.pop() ?? 0) + 2;
    } else if (part === '*' || part === '+' || part === '?') last++;
    // Flags are skipped, because a repetition after them repeats the part before them.
    else if (!part.startsWith('(?')) add(part.startsWith('\\Q') ? part.length : /\\p/i.test(part) ? unicodeClassCost : 1);
  }
  return open.reduce((sum, size) => sum + size, last);
}

/** The complete list of permission keywords (docs/spec/authentication.md#permissions). */
export const permissionKeywords = [
  'allow-full-control',
  'deny-full-control',
  'allow-read',
  'allow-list',
  'allow-traverse',
  'allow-create-folder',
  'allow-create-file',
  'allow-write',
  'allow-rename',
  'allow-delete-file',
  'allow-delete-folder',
  'allow-set-attributes',
  'allow-create-token',
  'allow-share',
] as const;

const rightBits = {
  read: 1,
  list: 2,
  traverse: 4,
  'create-folder': 8,
  write: 16,
  rename: 32,
  'delete-file': 64,
  'delete-folder': 128,
  'set-attributes': 256,
  'create-file': 512,
  'create-token': 1024,
  share: 2048,
} as const;

/** A right that an operation needs on a path. */
export type Right = keyof typeof rightBits;

export const allRights = Object.keys(rightBits) as Right[];

const allBits = Object.values(rightBits).reduce((sum, bit) => sum | bit, 0);

/** The permissions as configured: the general set, and the rules in order. */
export interface PermissionOptions {
  general: readonly string[];
  rules: readonly { expression: string; permissions: readonly string[] }[];
  /** Narrowings by tokens and links, applied one after the other. */
  narrowings?: readonly Narrowing[];
}

/** The permissions of a group that does not set any. */
export const defaultPermissions: PermissionOptions = { general: ['allow-full-control'], rules: [] };

/** The permissions of a group with an empty list: a copy of the default, so that `svc validate` can tell an empty list from none. */
export const permissionsOfEmptyList: PermissionOptions = { ...defaultPermissions };

function combineRights(keywords: readonly string[]): number {
  if (keywords.includes('deny-full-control')) return 0;
  if (keywords.includes('allow-full-control')) return allBits;
  let rights = 0;
  for (const keyword of keywords) rights |= rightBits[keyword.slice('allow-'.length) as Right] ?? 0;
  return rights;
}

/**
 * Replaces `${USER}` in an expression with the account's name. Wildcards in the name are escaped, because an account named `[a-z]` must not
 * widen its own rule.
 */
export function expandUserInExpression(expression: string, userName: string): string {
  if (!expression.includes(userVariable)) return expression;
  const name = userForPath(userName);
  const isRegularExpression = /^\s*!?\s*[em]\//.test(expression);
  const literal = isRegularExpression ? name.replace(/[\\^$.*+?()[\]{}|-]/g, '\\$&') : name.replaceAll('[', '[[]');
  return expression.replaceAll(userVariable, () => literal);
}

interface Rule {
  expression: Expression;
  permissions: readonly string[];
  rights: number;
}

/** The permissions that apply to a path. */
export interface PermissionSet {
  /** Number of the rule in the option `permissions`, counted from 1; undefined for the general set. */
  index: number | undefined;
  /** The rule's expression as configured; undefined for the general set. */
  expression: string | undefined;
  /** The permission keywords of the set. */
  permissions: readonly string[];
  /** Whether the set includes a right, before any narrowing by a token or link. */
  grants: (right: Right) => boolean;
}

/** The compiled permissions of one account. */
export class Permissions {
  /** The configured form. */
  readonly options: PermissionOptions;
  readonly #userName: string;
  readonly #general: number;
  readonly #rules: readonly Rule[];
  readonly #narrowings: readonly { narrowing: Narrowing; rights: number }[];

  /**
   * @param options keywords and expressions, already validated
   * @param userName the account's name, for `${USER}`
   * @param base permissions with the same rules, which need not be compiled again
   * @throws ServiceError `bad-request` if an expression cannot be parsed
   */
  constructor(options: PermissionOptions, userName: string, base?: Permissions) {
    this.options = options;
    this.#userName = userName;
    this.#general = combineRights(options.general);
    this.#narrowings = (options.narrowings ?? []).map((narrowing) => ({
      narrowing,
      rights: narrowing.permissions ? combineRights(narrowing.permissions) : allBits,
    }));
    this.#rules = base
      ? base.#rules
      : options.rules.map((rule) => ({
          expression: compileExpression(expandUserInExpression(rule.expression, userName), 'paths'),
          permissions: rule.permissions,
          rights: combineRights(rule.permissions),
        }));
  }

  /**
   * Whether the account has all `rights` on `path`. Rules are tried in order, and the first one that matches **replaces** the general set
   * (docs/spec/authentication.md#path-rules).
   */
  allows(path: VirtualPath, ...rights: Right[]): boolean {
    const granted = this.#rightsAt(path);
    return rights.every((right) => (granted & rightBits[right]) !== 0);
  }

  /** Returns these permissions, narrowed once more. The result never grants more than the original. */
  narrowed(narrowing: Narrowing): Permissions {
    const { options } = this;
    return new Permissions({ ...options, narrowings: [...(options.narrowings ?? []), narrowing] }, this.#userName, this);
  }

  /** Whether the account has at least one of `rights` on `path`. */
  allowsAny(path: VirtualPath, rights: readonly Right[]): boolean {
    const granted = this.#rightsAt(path);
    for (const right of rights) if ((granted & rightBits[right]) !== 0) return true;
    return false;
  }

  /** Whether the account could have a right on some path. Only a check of an actual path (`allows`) gives certainty. */
  mayEver(right: Right): boolean {
    const any = this.#rules.reduce((all, { rights }) => all | rights, this.#general);
    return (this.#narrowings.reduce((left, { rights }) => left & rights, any) & rightBits[right]) !== 0;
  }

  /**
   * Whether the account may give a permission keyword to a token or link. For this, it must be possible that the account has all rights of
   * the keyword on some path. `deny-full-control` cannot be given.
   */
  mayGive(keyword: string): boolean {
    const wanted = combineRights([keyword]);
    const any = this.#rules.reduce((all, { rights }) => all | rights, this.#general);
    const own = this.#narrowings.reduce((left, { rights }) => withCreation(left) & rights, any);
    return wanted !== 0 && (wanted & ~withCreation(own)) === 0;
  }

  /**
   * Whether rights can differ between paths, because there are rules or granted paths. If not, the rights on a folder apply to all its
   * content.
   */
  get hasRules(): boolean {
    return this.#rules.length > 0 || this.#narrowings.some(({ narrowing }) => narrowing.paths !== undefined);
  }

  /** Returns the permissions that apply to `path`, to explain them. For decisions use `allows`. */
  setAt(path: VirtualPath): PermissionSet {
    const index = this.#rules.findIndex((rule) => rule.expression.matches(path));
    const rule = this.#rules[index];
    const rights = withCreation(rule?.rights ?? this.#general);
    const grants = (right: Right) => (rights & rightBits[right]) !== 0;
    if (!rule) return { index: undefined, expression: undefined, permissions: this.options.general, grants };
    return { index: index + 1, expression: this.options.rules[index]?.expression, permissions: rule.permissions, grants };
  }

  // The result is memoized, because concurrent requests check several rights on the same path.
  readonly #ofRules = memoizeForTick((path) => this.#rules.find((rule) => rule.expression.matches(path))?.rights ?? this.#general);

  #rightsAt(path: VirtualPath): number {
    let granted = this.#rules.length > 0 ? this.#ofRules(path) : this.#general;
    for (const { narrowing, rights } of this.#narrowings) {
      const place = placeIn(narrowing, path);
      if (place === 'outside') return 0;
      if (place === 'inside') granted = withCreation(granted) & rights;
      // Folders on the way to a granted path show only the members that lead there, if the account may list or traverse such a folder.
      else granted = granted & (rightBits.list | rightBits.traverse) ? rightBits.list : 0;
    }
    return granted;
  }
}

/** Adds the right to create files if the rights include writing. */
function withCreation(rights: number): number {
  return (rights & rightBits.write) === 0 ? rights : rights | rightBits['create-file'];
}
