import assert from 'node:assert/strict';
import { posix } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { memberUrlPath, parseRequestTarget } from '../../src/http/request/request-target.ts';
import { ServiceError } from '../../src/lib/errors.ts';
import { pathFromSegments } from '../../src/lib/virtual-path.ts';

const nasty = fc.constantFrom(
  '..',
  '.',
  '%2e',
  '%2E%2e',
  '/',
  '//',
  '%2f',
  '%5c',
  '\\',
  '%00',
  '%',
  '%c0%ae',
  '%ff',
  'a',
  'ü',
  '%f0%9f%98%80',
  '__svc__',
  'home',
  ' ',
  ';',
  '?',
  '#',
  '%252e',
);

test('the path of any target stays below the root', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(nasty).map((parts) => `/home/${parts.join('')}`),
        fc.array(nasty).map((parts) => `/home/${parts.join('/')}`),
      ),
      (raw) => {
        let target: ReturnType<typeof parseRequestTarget>;
        try {
          target = parseRequestTarget(raw);
        } catch (error) {
          assert.ok(error instanceof ServiceError, String(error));
          return;
        }
        if (target.kind !== 'member') return;
        assert.equal(posix.normalize(target.path), target.path);
        assert.ok(target.path.startsWith('/') && !target.path.includes('\0') && !target.path.split('/').includes('..'));
        assert.notEqual(target.path.split('/')[1], '__svc__');
      },
    ),
    { seed: 5, numRuns: 5000 },
  );
});

test('every member name is unchanged after it was encoded into a URL and decoded', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }), { minLength: 1, maxLength: 4 }),
      fc.boolean(),
      (segments, isFolder) => {
        const usable =
          segments.every((name) => name !== '.' && name !== '..' && !/[/\0]/.test(name) && Buffer.byteLength(name) < 255) &&
          segments[0] !== '__svc__';
        if (!usable) return;
        const path = pathFromSegments(segments);
        assert.deepEqual(parseRequestTarget(memberUrlPath(path, isFolder)), { kind: 'member', path, isFolder, query: '' });
      },
    ),
    { seed: 5, numRuns: 1000 },
  );
});
