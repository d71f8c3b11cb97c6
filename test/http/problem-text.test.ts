import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { problemText } from '../../src/http/html/problem-message.ts';
import { errorCodes } from '../../src/lib/errors.ts';
import deDetails from '../../src/web/texts/details/de.json' with { type: 'json' };
import esDetails from '../../src/web/texts/details/es.json' with { type: 'json' };
import frDetails from '../../src/web/texts/details/fr.json' with { type: 'json' };
import de from '../../src/web/texts/problems/de.json' with { type: 'json' };
import es from '../../src/web/texts/problems/es.json' with { type: 'json' };
import fr from '../../src/web/texts/problems/fr.json' with { type: 'json' };

for (const [language, texts] of Object.entries({ de, es, fr })) {
  test(`every error code has a translation: ${language}`, () => {
    assert.deepEqual(Object.keys(texts).toSorted(), [...errorCodes].toSorted());
    for (const code of errorCodes) {
      assert.ok(texts[code].trim() !== '', code);
      const said = problemText(language, { code, message: 'Said in English.' });
      assert.ok(said.startsWith(texts[code]), `${code}: ${said}`);
    }
  });
}

test('the code of an error selects its translation; the message does not matter', () => {
  assert.equal(problemText('de', { code: 'forbidden', message: 'Path not found.' }), 'dafür fehlt die Berechtigung');
  assert.equal(problemText('en', { code: 'forbidden', message: 'Path not found.' }), 'Path not found.');
  const left = { code: 'in-use', message: 'The file is in use.', relativePath: 'sub: Path not found./a' } as const;
  assert.equal(problemText('fr', left), 'sub: Path not found./a: est en cours d’utilisation');
  assert.equal(problemText('en', left), 'sub: Path not found./a: The file is in use.');
});

test('for a code that stands for several problems, a message without its own translation follows the translation of the code', () => {
  const problem = { code: 'internal', message: 'Internal error. Reference: 1' } as const;
  assert.equal(problemText('de', problem), 'etwas ist schiefgegangen: Internal error. Reference: 1');
  assert.equal(problemText('en', problem), problem.message);
});

test('a message is translated whole, with names and numbers; each translated message occurs in the sources', () => {
  const of = (message: string) => ({ code: 'unprocessable', message }) as const;
  assert.equal(problemText('de', of('The folder has uploads that are held for review.')), 'im Ordner warten Dateien auf ihre Prüfung');
  const path = 'The account itself has no rights at "/a {} 7", so it cannot give any.';
  assert.equal(problemText('es', of(path)), 'su cuenta no tiene permisos en "/a {} 7" y no puede darlos');
  assert.equal(problemText('en', of(path)), path);
  const root = join(process.env.SVC_ROOT ?? process.cwd(), 'src');
  const folders = ['accounts', 'auth', 'files', 'http', 'lib'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(root, folder, name)),
  );
  const code = folders.filter((name) => name.endsWith('.ts')).map((name) => readFileSync(name, 'utf8').replaceAll('\\`', '`'));
  const text = code.join('\n').replace(/"[^"\n]*"|\$\{[^}]*\}/g, '{}');
  assert.deepEqual(Object.keys(deDetails).toSorted(), Object.keys(frDetails).toSorted());
  assert.deepEqual(Object.keys(deDetails).toSorted(), Object.keys(esDetails).toSorted());
  for (const message of Object.keys(deDetails)) assert.ok(text.includes(message), message);
});

test('every error code is thrown somewhere', () => {
  const root = join(process.env.SVC_ROOT ?? process.cwd(), 'src');
  const tables = ['lib/errors.ts', 'http/reply/error-reply.ts'];
  const sources = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !tables.includes(name))
    .map((name) => readFileSync(join(root, name), 'utf8'));
  // An error is made by `ServiceError`, from a table of errors, or as a `Problem`.
  const isMade = (code: string) => sources.some((text) => new RegExp(`(?:ServiceError\\(\\s*|: \\[|\\bcode: )'${code}',`).test(text));
  assert.deepEqual(
    errorCodes.filter((code) => !isMade(code)),
    [],
  );
  assert.equal(isMade('is-nothing'), false);
});
