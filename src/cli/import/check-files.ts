import { type BigIntStats, lstatSync, readdirSync, realpathSync } from 'node:fs';
import { join, resolve, sep } from 'node:path';
import { expandUserInPath } from '../../accounts/user-names.ts';
import { systemErrorCode } from '../../lib/errors.ts';
import type { DraftAccount, Note } from './draft.ts';

/** Once this many entries of one account's folder are inspected, no further folders are read, and a note says so. */
const maxEntries = 1_000_000;
/** Maximum number of findings of one kind that are reported for one account. */
const maxTold = 20;

type Kind = 'encoding' | 'link' | 'twins' | 'special' | 'owner' | 'mode' | 'unreadable';

const remedies: Readonly<Record<Kind, string>> = {
  encoding: 'svc does not show it: rename it (convmv).',
  link: 'svc does not follow the link: make its target a virtual folder, or copy the target.',
  twins: 'Clients on Windows and macOS treat both names as one: rename one.',
  special: 'svc does not show it.',
  owner: 'All files that svc serves have the same owner: chown this one, and add a rule of permissions if the account must not change it.',
  mode: 'The mode kept the account out on the old server; svc checks the permissions of its configuration instead: add a rule, or use chmod.',
  unreadable: 'Run this check as a user who may read it.',
};

/**
 * Inspects the files of accounts, or a copy of them, for properties that svc treats differently from the old server.
 *
 * @param root folder that takes the place of the old machine's `/`, and contains a copy of its files
 * @param folder folder against which relative paths of home folders are resolved
 */
export function checkHomes(accounts: readonly DraftAccount[], root: string, folder: string): Note[] {
  const notes: Note[] = [];
  const homes = new Map<string, string>();
  for (const account of accounts) {
    for (const home of [account.home, ...account.virtualFolders.map(([, real]) => real)]) {
      const expanded = expandUserInPath(home, account.name);
      const path = home.startsWith('/') ? join(root, expanded) : resolve(folder, expanded);
      if (!homes.has(path)) homes.set(path, account.name);
    }
  }
  for (const [path, account] of homes) checkHome(path, account, notes);
  return notes;
}

function checkHome(home: string, account: string, notes: Note[]): void {
  const told = new Map<Kind, number>();
  const tell = (kind: Kind, path: string, what: string) => {
    const count = (told.get(kind) ?? 0) + 1;
    told.set(kind, count);
    if (count <= maxTold) notes.push({ file: path, line: 0, account, what, instead: remedies[kind] });
  };
  let real: string;
  let top: BigIntStats;
  try {
    real = realpathSync(home);
    top = lstatSync(real, { bigint: true });
  } catch (error) {
    const isMissing = systemErrorCode(error) === 'ENOENT';
    notes.push({
      file: home,
      line: 0,
      account,
      what: isMissing ? 'the folder does not exist' : 'the folder cannot be read',
      instead: 'Create it, or copy it.',
    });
    return;
  }
  // A chroot folder belongs to root. So the UID that owns most entries below it is taken as the UID of the account.
  const owners = new Map<bigint, number>();
  const found: { path: string; stats: BigIntStats }[] = [];
  const folders = [real];
  let entries = 0;
  for (let path = folders.pop(); path !== undefined && entries < maxEntries; path = folders.pop()) {
    let names: Buffer[];
    try {
      names = readdirSync(path, { encoding: 'buffer' });
    } catch {
      tell('unreadable', path, 'the folder cannot be read');
      continue;
    }
    entries += names.length;
    checkTwins(path, names, tell);
    for (const name of names) {
      const text = name.toString('utf8');
      if (!Buffer.from(text).equals(name)) {
        tell('encoding', join(path, text), 'the name is not UTF-8');
        continue;
      }
      const entry = join(path, text);
      const stats = lstatSync(entry, { bigint: true, throwIfNoEntry: false });
      if (!stats) continue;
      if (stats.isSymbolicLink()) checkLink(entry, real, tell);
      else if (!stats.isFile() && !stats.isDirectory()) tell('special', entry, 'it is a device, a pipe or a socket');
      else {
        owners.set(stats.uid, (owners.get(stats.uid) ?? 0) + 1);
        found.push({ path: entry, stats });
        if (stats.isDirectory()) folders.push(entry);
      }
    }
  }
  if (entries >= maxEntries)
    notes.push({ file: home, line: 0, account, what: `it has more than ${maxEntries} entries`, instead: 'The rest was not checked.' });
  const owner = [...owners].filter(([uid]) => uid !== 0n || top.uid === 0n).sort(([, a], [, b]) => b - a)[0]?.[0] ?? top.uid;
  for (const { path, stats } of found) checkOwner(path, stats, owner, tell);
  for (const [kind, count] of told)
    if (count > maxTold)
      notes.push({
        file: home,
        line: 0,
        account,
        what: `there are ${count - maxTold} more findings of the kind "${kind}"`,
        instead: remedies[kind],
      });
}

type Tell = (kind: Kind, path: string, what: string) => void;

/** Finds names that are the same name on a file system that ignores case or normalises Unicode. */
function checkTwins(folder: string, names: readonly Buffer[], tell: Tell): void {
  const seen = new Map<string, string>();
  for (const name of names) {
    const text = name.toString('utf8');
    const form = text.normalize('NFC').toLowerCase();
    const other = seen.get(form);
    if (other !== undefined) tell('twins', join(folder, text), `its name differs from "${other}" only by case or by Unicode normalisation`);
    seen.set(form, text);
  }
}

function checkLink(path: string, root: string, tell: Tell): void {
  let target: string;
  try {
    target = realpathSync(path);
  } catch {
    tell('link', path, 'the target of the link does not exist');
    return;
  }
  if (target !== root && !target.startsWith(root + sep)) tell('link', path, 'the link leaves the folder of the account');
}

function checkOwner(path: string, stats: BigIntStats, owner: bigint, tell: Tell): void {
  const isOwn = stats.uid === owner;
  const mode = Number(stats.mode & 0o777n);
  if (!isOwn) tell('owner', path, `its owner is UID ${stats.uid}, but most entries belong to UID ${owner}`);
  else if ((mode & 0o600) !== 0o600) tell('mode', path, `its mode ${mode.toString(8)} does not let its owner read and write`);
}
