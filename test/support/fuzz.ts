import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import fc from 'fast-check';
import { ServiceError } from '../../src/lib/errors.ts';

/** Number of cases of one property. `npm run fuzz` increases it. */
const cases = Number(process.env.SVC_FUZZ_CASES ?? 400);

/** A seed that every run uses, so that each run finds the same faults again. */
const fixedSeed = 20_261;

/** A second, random seed. To repeat a run, set `SVC_FUZZ_SEED` to its seed. */
const randomSeed = Number(process.env.SVC_FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));

/**
 * Checks a property, half of the cases with the fixed seed and half with a random one. Prints the number of cases.
 *
 * @param options.share factor for the number of cases; it is larger for properties that are cheap to check
 * @param options.most maximum number of cases, for properties where more cases take long and find nothing new
 * @param options.each number of cases in one value
 */
export async function fuzz<T>(
  t: TestContext,
  arbitrary: fc.Arbitrary<T>,
  check: (value: T) => void | Promise<void>,
  options: { share?: number; most?: number; each?: number } = {},
): Promise<void> {
  const numRuns = Math.ceil(Math.min(cases * (options.share ?? 1), options.most ?? Number.POSITIVE_INFINITY) / 2);
  let count = 0;
  const counted = async (value: T) => {
    count += options.each ?? 1;
    await check(value);
  };
  for (const seed of [fixedSeed, randomSeed]) {
    await fc.assert(fc.asyncProperty(arbitrary, counted), { seed, numRuns, ignoreEqualValues: false });
  }
  console.log(`fuzz: ${count} cases: ${t.name} (seeds ${fixedSeed} and ${randomSeed})`);
}

/** Returns the result of a parser of hostile text; undefined if the parser refuses the text. Any other error makes the test fail. */
export function orRefused<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch (error) {
    assertRefusal(error);
    return undefined;
  }
}

export function assertRefusal(error: unknown): void {
  assert.ok(error instanceof ServiceError && error.code !== 'internal', String((error as Error).stack));
}

// These code points, which include lone surrogates, are much cheaper to create than fast-check's own strings of this kind.
const codePoint = fc.oneof(fc.nat(0x7f), fc.nat(0x7ff), fc.nat(0x10ffff));

/** Returns damaged forms of the texts `seeds`: cut, repeated, spliced with others, or with inserted characters. */
export function damaged(seeds: readonly string[]): fc.Arbitrary<string> {
  const odd = ['', '\r\n', ...'\0\n \t"\'<>&%;,:={}[]\\/\u{1f600}\ufeff'];
  const piece = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...odd) },
    { weight: 2, arbitrary: fc.constantFrom(...seeds) },
    { weight: 1, arbitrary: fc.array(codePoint, { maxLength: 8 }).map((points) => String.fromCodePoint(...points)) },
  );
  const edit = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    remove: fc.nat(12),
    put: piece,
    times: fc.integer({ min: 1, max: 3 }),
  });
  return fc.tuple(fc.constantFrom(...seeds), fc.array(edit, { maxLength: 6 })).map(([seed, edits]) =>
    edits.reduce((text, { at, remove, put, times }) => {
      const start = Math.floor(at * text.length);
      return text.slice(0, start) + put.repeat(times) + text.slice(start + remove);
    }, seed),
  );
}
