import assert from 'node:assert/strict';
import { lstatSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { findSecrets, learnFromText, learnSecret, rememberSecrets } from './secrets.ts';

/** Files in which the test or its clients write secrets on purpose. */
const exempt: readonly { name: RegExp; reason: string }[] = [
  { name: /(^|\/)[\w.-]*config[\w.-]*\.(json|ya?ml)$/, reason: 'the configuration holds the passwords that the service sends to others' },
  { name: /\.(pem|key)$/, reason: 'the test makes keys for the service' },
];

/** Maximum size, in bytes, of searched files. Larger files are content of a test. */
const maxBytes = 16 * 1024 * 1024;

/** A test, or all tests of a file. */
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

/** Searches all outputs and folders of a test for secrets at its end, before they are removed. If one is found, the test fails. */
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

/** Makes a test fail at its end. The hook is registered last, because hooks after one that throws do not run. */
export function failAtEnd(t: Ending, fault: unknown): void {
  t.after(() => {
    throw fault;
  });
}

/** Registers a folder. At the end of the test, it is searched and removed. */
export function watchFolder(t: Ending, folder: string): void {
  watched(t).folders.push(folder);
}

/** Registers a function that stops something at the end of the test, before the outputs are searched. */
export function watchOutput(t: Ending, stop: () => unknown, outputs: Watched['texts']): void {
  watched(t).stops.push(stop);
  watched(t).texts.push(...outputs);
}

/** Allows secrets in some places. @param place matches the name of an output, or a path below a test's folder */
export function allowSecrets(t: Ending, place: RegExp, _reason: string): void {
  watched(t).allowed.push(place);
}

/** Returns the secrets that the service of a test has shown so far. */
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

/** Removes the password of the first account from a text. `svc serve` prints it once; it must not appear elsewhere. */
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
    // The service writes only names in UTF-8.
    if (!entry.isFile() || entry.name.includes('\ufffd')) return [];
    const size = lstatSync(path, { throwIfNoEntry: false })?.size ?? 0;
    return size > 0 && (size <= maxBytes || /\.(ndjson|log|marks)$/.test(path)) ? [path] : [];
  });
}
