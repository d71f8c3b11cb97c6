import assert from 'node:assert/strict';
import { lstatSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { findSecrets, learnFromText, learnSecret, rememberSecrets } from './secrets.ts';

/** Files in which the test or its clients write secrets on purpose. All other files in a test's folder are searched for secrets. */
const exempt: readonly { name: RegExp; reason: string }[] = [
  { name: /(^|\/)[\w.-]*config[\w.-]*\.(json|ya?ml)$/, reason: 'the configuration holds the passwords that the service sends to others' },
  { name: /\.(pem|key)$/, reason: 'the test makes keys for the service' },
];

/**
 * Maximum size, in bytes, of files that are searched. Larger files are content of a test. Logs and journals are always searched.
 */
const maxBytes = 16 * 1024 * 1024;

/** A test, or all tests of a file. Everything that is started in it is stopped at its end. */
export interface Ending {
  after(end: () => unknown): void;
}

interface Watched {
  folders: string[];
  stops: (() => unknown)[];
  texts: { where: string; text: () => string }[];
  allowed: RegExp[];
}

const watchedTests = new WeakMap<Ending, Watched>();
/** Number of watched tests that have not ended. */
let running = 0;

/**
 * The service of a test must not show a secret anywhere: in its log, on stdout and stderr, or in any file that it writes. At the end of the
 * test, before its folders are removed, all registered outputs and folders are searched. If they contain a secret, the test fails.
 */
function watched(t: Ending): Watched {
  const before = watchedTests.get(t);
  if (before) return before;
  const now: Watched = { folders: [], stops: [], texts: [], allowed: [] };
  watchedTests.set(t, now);
  running++;
  const forget = rememberSecrets();
  t.after(async () => {
    for (const stop of now.stops.reverse())
      await Promise.resolve()
        .then(stop)
        .catch((error) => failAtEnd(t, error));
    try {
      const found = lookThrough(now);
      if (found.length > 0) failAtEnd(t, new assert.AssertionError({ message: `secrets are shown:\n${found.join('\n')}` }));
    } finally {
      running--;
      if (running === 0) forget();
      for (const folder of now.folders) rmSync(folder, { recursive: true, force: true });
    }
  });
  return now;
}

/**
 * Makes a test fail at its end, by a hook that throws. The hook is registered last, because hooks after it do not run, and so could not
 * release their resources.
 */
export function failAtEnd(t: Ending, fault: unknown): void {
  t.after(() => {
    throw fault;
  });
}

/** Registers a folder. At the end of the test, after everything was stopped, it is searched and removed. */
export function watchFolder(t: Ending, folder: string): void {
  watched(t).folders.push(folder);
}

/** Registers a function that stops something at the end of the test, before the outputs are searched. */
export function watchOutput(t: Ending, stop: () => unknown, outputs: Watched['texts']): void {
  watched(t).stops.push(stop);
  watched(t).texts.push(...outputs);
}

/**
 * Allows secrets in an output or file that must contain them.
 *
 * @param place matches the name of an output, or a path below a test's folder
 */
export function allowSecrets(t: Ending, place: RegExp, _reason: string): void {
  watched(t).allowed.push(place);
}

/** Returns the secrets that the service of a test has shown so far. Used by the tests of this module. */
export function secretsShown(t: Ending): string[] {
  return lookThrough(watched(t));
}

function lookThrough({ folders, texts, allowed }: Watched): string[] {
  const files = folders.flatMap((folder) => filesBelow(folder).map((path) => ({ path, name: relative(folder, path) })));
  const isExempt = (name: string) => exempt.some((one) => one.name.test(name)) || allowed.some((place) => place.test(name));
  for (const { path, name } of files) if (isExempt(name)) learnFromText(readFileSync(path, 'utf8'), basename(path));
  const show = (where: string, content: string | Buffer) => findSecrets(content).map((what) => `${where}: ${what}`);
  const inTexts = texts.flatMap(({ where, text }) => (isExempt(where) ? [] : show(where, withoutNewPassword(text()))));
  const inFiles = files.flatMap(({ path, name }) => {
    if (/^core(\.\d+)?$/.test(basename(path))) return [`${name}: a process crashed and left its memory`];
    return isExempt(name) ? [] : show(name, readFileSync(path));
  });
  return [...inTexts, ...inFiles];
}

/**
 * Removes the password that `svc serve` creates for its first account. It is printed once, so that the user can log in, and must not appear
 * elsewhere.
 */
function withoutNewPassword(text: string): string {
  return text.replace(/^(.*Account: \w+ {3}Password: )(\S+)/gm, (_, before: string, password: string) => {
    learnSecret(password, 'the password that svc serve made');
    return before;
  });
}

function filesBelow(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesBelow(path);
    // The service writes only names in UTF-8. So a file with another name was created by a test.
    if (!entry.isFile() || entry.name.includes('\ufffd')) return [];
    const size = lstatSync(path, { throwIfNoEntry: false })?.size ?? 0;
    return size > 0 && (size <= maxBytes || /\.(ndjson|log|marks)$/.test(path)) ? [path] : [];
  });
}
