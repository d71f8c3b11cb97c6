import { compileExpression } from '../../lib/expression.ts';

/** Stands for any text while two globs are compared; no path of a configuration has it. */
const anything = '\ue000';

/** A glob of a rule that may make later rules unreachable. */
interface Cover {
  order: number;
  matches: (text: string) => boolean;
}

/**
 * The rules of one list so far, asked whether they leave a later one anything. They are found by what their globs begin or end
 * with, so that a list may be long.
 */
export class EarlierRules {
  readonly #expressions: string[] = [];
  readonly #orders = new Map<string, number>();
  readonly #byPrefix = new Map<string, Cover[]>();
  readonly #bySuffix = new Map<string, Cover[]>();

  /** Adds the next rule. @returns what takes all that it could match, as text */
  add(expression: string): string | undefined {
    const single = this.#firstThatCovers(expression);
    const together = single === undefined ? this.#coveredTogether(expression) : undefined;
    // What a rule takes that is taken itself, the other takes, too; but for "?.csv", which "*.csv" takes and "/*.csv" does not.
    const isNeeded = single === undefined || (/(?:^|\|)\s*(?:g\/)?\*/.test(expression) && !this.#orders.has(normalised(expression)));
    if (isNeeded) this.#index(expression);
    return single === undefined ? together : this.#expressions[single];
  }

  #index(expression: string): void {
    const order = this.#expressions.push(expression) - 1;
    if (!this.#orders.has(normalised(expression))) this.#orders.set(normalised(expression), order);
    const globs = alternativesOf(expression) ?? [];
    // A class or `?` takes less than the character that stands for anything.
    if (!globs.some((glob) => /[?[]/.test(glob))) for (const glob of globs) this.#indexGlob(glob, order);
  }

  #indexGlob(glob: string, order: number): void {
    const { matches } = compileExpression(`g/${glob}/`);
    const parts = glob.toLowerCase().split('*');
    const [prefix = '', suffix = ''] = [parts[0], parts.length > 1 ? parts.at(-1) : ''];
    const [index, key] = prefix.length >= suffix.length ? [this.#byPrefix, prefix] : [this.#bySuffix, suffix];
    const covers = index.get(key);
    if (covers) covers.push({ order, matches });
    else index.set(key, [{ order, matches }]);
  }

  /** The first rule that matches all that an expression does, by itself. */
  #firstThatCovers(expression: string): number | undefined {
    const equal = this.#orders.get(normalised(expression));
    const orders = equal === undefined ? [] : [equal];
    const globs = alternativesOf(expression);
    if (globs && !globs.some((glob) => glob.includes('['))) {
      const [first, ...others] = globs.map((glob) => new Set(this.#coversOf(glob)));
      orders.push(...[...(first ?? [])].filter((order) => others.every((other) => other.has(order))));
    }
    return orders.sort((a, b) => a - b)[0];
  }

  /** Several rules that together match all that an expression does. @returns them, as text */
  #coveredTogether(expression: string): string | undefined {
    const globs = alternativesOf(expression);
    if (!globs || globs.length < 2) return undefined;
    const covering = globs.map((glob) => this.#firstThatCovers(glob));
    if (covering.includes(undefined)) return undefined;
    return [...new Set(covering)].map((order) => this.#expressions[order as number]).join('", "');
  }

  /**
   * Rules one of whose globs matches everything that a glob does. Sound, not complete: a private character in place of each
   * wildcard can only be taken by a `*`, which takes anything. Classes and regular expressions count only when they are the
   * same text.
   */
  #coversOf(glob: string): number[] {
    const sample = glob.replace(/\*+/g, anything).replaceAll('?', anything);
    // Every virtual path begins with "/", so "*.csv" is "/*.csv"; "*" alone also matches "/" itself.
    const samples = glob.startsWith('*') && glob !== '*' ? [sample, `/${sample}`] : [sample];
    return samples.flatMap((text) => this.#candidates(text.toLowerCase()).flatMap(({ order, matches }) => (matches(text) ? [order] : [])));
  }

  #candidates(text: string): Cover[] {
    const found: Cover[] = [];
    for (let length = 0; length <= text.length; length++) {
      found.push(...(this.#byPrefix.get(text.slice(0, length)) ?? []));
      found.push(...(this.#bySuffix.get(text.slice(text.length - length)) ?? []));
    }
    return found;
  }
}

function normalised(expression: string): string {
  return expression.trim().toLowerCase();
}

function alternativesOf(expression: string): string[] | undefined {
  const text = expression.trim();
  const glob = /^g\/([\s\S]*)\/$/.exec(text)?.[1];
  if (glob !== undefined) return [glob];
  if (/^!|^[em]\//.test(text)) return undefined;
  return text.split('|').map((part) => part.trim());
}
