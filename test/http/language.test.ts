import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { languageFor } from '../../src/http/html/pages/locales/language.ts';

const tags = ['en', 'en-US', 'en-GB', 'en-IN', 'de', 'de-CH', 'fr', 'fr-CA', 'es', 'es-MX'];

test('dates and times of a listing are those of Intl, in every language and region', () => {
  const timeMs = fc.oneof(
    fc.integer({ min: -2_208_988_800_000, max: 4_102_444_800_000 }),
    fc.double({ min: -8.64e15, max: 8.64e15, noNaN: true }),
    fc.constantFrom(0, -1, 59_999.5, 86_399_999.9, 86_400_000),
  );
  for (const tag of tags) {
    const language = languageFor(tag);
    const whole = new Intl.DateTimeFormat(tag, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });
    fc.assert(
      fc.property(timeMs, (ms) => {
        assert.equal(language.date(ms), whole.format(ms), `${tag} ${ms}`);
      }),
    );
  }
});

test('a listing shows sizes in units of powers of 1000, with at most one decimal, as the language writes them', () => {
  const text = (tag: string, bytes: number) =>
    languageFor(tag)
      .size(bytes)
      .replaceAll(/[\u00a0\u202f]/g, ' ');
  assert.equal(text('en', 0), '0 bytes');
  assert.equal(text('en', 999), '999 bytes');
  assert.equal(text('en', 1000), '1 kB');
  assert.equal(text('en', 1150), '1.2 kB');
  assert.equal(text('de', 1_449_999), '1,4 MB');
  assert.equal(text('fr', 2_500_000_000), '2,5 Go');
  assert.equal(text('en', Number.MAX_SAFE_INTEGER), '9 PB');
  fc.assert(
    fc.property(fc.constantFrom(...tags), fc.nat(Number.MAX_SAFE_INTEGER), (tag, bytes) => {
      // The second result comes from the cache.
      assert.equal(languageFor(tag).size(bytes), languageFor(tag).size(bytes));
      const unit = text('en', bytes).split(' ')[1] ?? '';
      const factor = { byte: 1, bytes: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, PB: 1e15 }[unit] as number;
      const shown = Number(text('en', bytes).split(' ')[0]?.replaceAll(',', '')) * factor;
      assert.ok(Math.abs(shown - bytes) <= 0.05001 * factor, `${bytes} shown as ${text('en', bytes)}`);
    }),
  );
});
