import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { checkSource } from '../../config/check.ts';
import { parseSource } from '../../config/reading/source.ts';
import { systemClock } from '../../lib/clock.ts';
import { readingFault } from '../../lib/disk/named-file.ts';
import { ServiceError } from '../../lib/errors.ts';
import { exitCode } from '../exit-codes.ts';
import { writeNamedFile } from '../file-fault.ts';
import { complain, count, print, visible } from '../output.ts';
import { importCsv } from './csv.ts';
import { addAccount, type Draft, draftAccount, emptyDraft, type ImportInput, type InputFile, type Note, readOnly } from './draft.ts';
import { finish } from './finish.ts';
import { importOpenssh } from './openssh.ts';
import { importProftpd } from './proftpd.ts';
import { importSftpgo } from './sftpgo.ts';
import { importVsftpd } from './vsftpd.ts';

/** Options of `svc import`. */
interface ImportOptions {
  out: string;
  root: string;
  home: string;
  port?: number;
  check?: boolean;
  json?: boolean;
}

type Reader = (input: ImportInput) => Draft | Promise<Draft>;

const readers: Readonly<Record<string, Reader>> = {
  csv: importCsv,
  htpasswd: importHtpasswd,
  openssh: importOpenssh,
  proftpd: importProftpd,
  sftpgo: importSftpgo,
  vsftpd: importVsftpd,
};

const maxFileBytes = 64 * 1024 * 1024;

/** Maximum size, in bytes, of a configuration that svc reads (config/reading/source.ts). */
const maxConfigBytes = 4 * 1024 * 1024;

/** Creates a configuration from another server's files. @returns 1 if `--check` found something, otherwise 0 */
export async function importFrom(from: string, named: readonly string[], options: ImportOptions): Promise<number> {
  const outputs = outputPaths(options.out);
  if (!options.check) assertFree(outputs);
  const reader = readers[from] as Reader;
  const files = named.map(readInput);
  const { home, port } = options;
  const draft = await reader({ files, root: resolve(options.root), home, port, nowMs: systemClock.nowMs() });
  const finished = finish(draft, from, { config: basename(outputs.config), accountsFile: basename(outputs.accountsFile) });
  assertValid(resolve(options.out), finished.config);
  const { notes } = finished;
  if (options.check) {
    const { checkHomes } = await import('./check-files.ts');
    notes.push(...checkHomes(finished.accounts, resolve(options.root), dirname(resolve(options.out))));
    report(notes, options.json);
    if (!options.json) print(`${count(finished.accounts.length, 'account')}, ${count(notes.length, 'note')}; nothing was written`);
    return notes.length > 0 ? exitCode.no : exitCode.done;
  }
  const text = notes.map(noteText).join('\n');
  for (const [path, content] of [
    [outputs.accountsFile, finished.accountsFile],
    [outputs.config, finished.config],
    [outputs.cases, finished.cases],
    [outputs.notes, `${text || 'Everything was imported.'}\n`],
  ] as const)
    if (content !== undefined) writeNamedFile(`Cannot write ${path}`, path, content, { flag: 'wx', mode: 0o600 });
  report(notes, options.json);
  if (options.json) return exitCode.done;
  print(`${finished.accountsFile === undefined ? outputs.config : outputs.accountsFile}: ${count(finished.accounts.length, 'account')}`);
  if (finished.accountsFile !== undefined) print(`${outputs.config}: the configuration, which refers to the file of accounts`);
  print(`${outputs.notes}: ${count(notes.length, 'note')} about differences from the old server`);
  print(`${outputs.cases}: test cases for logins and permissions. Next: svc validate ${outputs.config} && svc test ${outputs.cases}`);
  return exitCode.done;
}

/** Paths of the files to write. The accounts file is written only if there are many accounts. */
type OutputPaths = Record<'config' | 'accountsFile' | 'cases' | 'notes', string>;

function outputPaths(out: string): OutputPaths {
  const base = basename(out).replace(/(?:\.config)?\.(?:ya?ml|json)$/, '');
  const beside = (suffix: string) => join(dirname(out), `${base}.${suffix}`);
  return { config: out, accountsFile: beside('accounts.json'), cases: beside('test.yaml'), notes: beside('import.txt') };
}

function assertFree(outputs: OutputPaths): void {
  const taken = Object.values(outputs).find((path) => existsSync(path));
  if (taken !== undefined) throw new ServiceError('bad-request', `${taken} exists and is not overwritten; name another file with --out.`);
}

/** Reads a file, which can be named as `FILE` or `ACCOUNT=FILE`. For a folder, the text is empty. */
function readInput(given: string): InputFile {
  const [, account, rest = given] = existsSync(given) ? [] : (/^([^/=]+)=(.+)$/.exec(given) ?? []);
  try {
    const stats = statSync(rest);
    if (stats.isDirectory()) return { path: rest, text: '', account };
    if (stats.size > maxFileBytes) throw new ServiceError('bad-request', `${rest} is larger than ${maxFileBytes / 1024 / 1024} MiB.`);
    return { path: rest, text: readFileSync(rest, 'utf8'), account };
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError('bad-request', `Cannot read ${rest}: ${readingFault(rest, error)}.`, { cause: error });
  }
}

/** Checks that the result is a valid configuration. Called before anything is written. */
function assertValid(path: string, text: string): void {
  if (Buffer.byteLength(text) > maxConfigBytes)
    throw new ServiceError(
      'bad-request',
      'The accounts need too many different groups: even without the accounts, the configuration would be larger than 4 MiB. Import them in parts.',
    );
  const errors = checkSource(parseSource(path, text), {}).findings.filter(({ severity }) => severity === 'error');
  const [first] = errors;
  if (first)
    throw new ServiceError('unavailable', `The configuration would not be valid: ${first.path}: ${first.message}. Nothing was written.`);
}

/** Formats a note as a line: `FILE:LINE: account alice: WHAT. INSTEAD`. */
function noteText({ file, line, account, what, instead }: Note): string {
  const place = file === '' ? '' : `${file}${line > 0 ? `:${line}` : ''}: `;
  return visible(`${place}${account === undefined ? '' : `account ${account}: `}${what}. ${instead}`);
}

function report(notes: readonly Note[], asJson = false): void {
  if (asJson) for (const note of notes) print(JSON.stringify(note));
  else for (const note of notes) complain(noteText(note));
}

/** Reads the password files of Apache (htpasswd) and nginx. They contain names and hashes, but no permissions. */
export function importHtpasswd({ files, home, port }: ImportInput): Draft {
  const draft = emptyDraft();
  draft.services.web = { type: 'http', port: port ?? 8080 };
  for (const { path: file, text } of files) {
    for (const [index, content] of text.split(/\r?\n/).entries()) {
      const line = index + 1;
      if (content.trim() === '' || content.startsWith('#')) continue;
      const [, name = '', hash = ''] = /^([^:]*):([^:]*)/.exec(content) ?? [];
      if (name === '' || hash === '') {
        draft.notes.push({ file, line, what: 'this is not an account', instead: 'Correct the line, or add the account by hand.' });
        continue;
      }
      const account = { ...draftAccount(name, file, line), password: hash.trim(), home, permissions: [[...readOnly]] };
      addAccount(draft, account);
    }
    draft.notes.push({
      file,
      line: 0,
      what: 'a password file does not say what accounts may do',
      instead: 'They may read and list. Add permissions to the group, such as allow-write.',
    });
  }
  draft.notes.push({
    file: '',
    line: 0,
    what: 'the service listens on 127.0.0.1 without TLS',
    instead: 'Put it behind a proxy, or make it a service of type https with tls_certificate_path and tls_key_path.',
  });
  return draft;
}
