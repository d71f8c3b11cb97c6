import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import type { ServiceEvent } from '../../events/event.ts';
import { type Checkpoint, keyName, parseWitness } from '../../events/journal/checkpoints.ts';
import type { BadLine } from '../../events/journal/event-log.ts';
import { journalEvents } from '../../events/journal/event-search.ts';
import { nextKeyPath, readKey, writeKey } from '../../events/journal/evidence.ts';
import { type ExportFormat, exportedEvents, exportJournal, isExport, verifyExport } from '../../events/journal/export.ts';
import { journalFolder, journalKeyPath } from '../../events/journal/file-event-log.ts';
import { comparePositions, type LogPosition } from '../../events/journal/position.ts';
import { JournalReader } from '../../events/journal/reader.ts';
import { eventTimeMs } from '../../events/journal/search/event-selection.ts';
import { eventsSince } from '../../events/journal/segments.ts';
import { type Verification, verifyCheckpoints, verifyJournal } from '../../events/journal/verify.ts';
import { systemClock } from '../../lib/clock.ts';
import { peekDataFolder } from '../../lib/disk/data-folder.ts';
import { readingFault } from '../../lib/disk/named-file.ts';
import { ServiceError, systemErrorCode } from '../../lib/errors.ts';
import { type ServiceOptions, serviceFolder } from '../control/service-folder.ts';
import { exitCode } from '../exit-codes.ts';
import { fileFault, readNamedFile } from '../file-fault.ts';
import { complain, print, visible } from '../output.ts';

interface VerifyOptions extends ServiceOptions {
  publicKey?: string;
  witness?: string;
  since?: number;
  json?: boolean;
}

/** A journal or an export, and the result of its verification. */
interface Verified {
  folder: string;
  result: Verification;
}

async function verified(named: string | undefined, options: VerifyOptions): Promise<Verified> {
  const folder = named ?? (await findJournalFolder(options));
  if (!existsSync(folder)) throw new ServiceError('bad-request', `There is no journal in ${folder}; name the folder that has one.`);
  const given = options.publicKey === undefined ? undefined : readPublicKey(options.publicKey);
  const witness = options.witness === undefined ? [] : readWitness(options.witness);
  const { result, hasKey } = isExport(folder)
    ? { result: await verifyExported(folder, given, witness), hasKey: given !== undefined }
    : await verifyFolder(folder, given, { witness, sinceMs: options.since });
  if (!hasKey)
    complain('svc: signatures were checked with the keys that the checkpoints name; to check with a key that you trust, use --public-key');
  return { folder, result };
}

/** Verifies a journal (docs/spec/evidence.md#verification). */
export async function verify(named: string | undefined, options: VerifyOptions): Promise<number> {
  const { folder, result } = await verified(named, options);
  if (options.json) print(JSON.stringify({ folder, ...result }));
  else print(describe(result, folder));
  return { whole: exitCode.done, fault: exitCode.mismatch, undecided: exitCode.undecided }[result.outcome];
}

export const receiptResult = z.strictObject({
  event: z.string().describe('UUID of the event.'),
  outcome: z.enum(['proved', 'fault', 'missing', 'undecided']),
  folder: z.string(),
  details: z.string(),
  found: z
    .strictObject({
      id: z.string(),
      time: z.string(),
      account: z.string(),
      path: z.string().nullable(),
      size: z.number().nullable().describe('Bytes.'),
    })
    .nullable(),
});

/**
 * Checks that a journal or export contains an event, and that nothing before the event is missing or changed.
 * @param uuid UUID of the event, for example from the header `Event-Id` of the reply to an upload
 */
export async function receipt(uuid: string, named: string | undefined, options: VerifyOptions): Promise<number> {
  const { folder, result } = await verified(named, options);
  const place = isExport(folder) ? await findExported(folder, uuid) : await findJournalled(folder, uuid);
  const { uncovered } = result;
  const isCovered =
    !uncovered ||
    (place?.position !== undefined && comparePositions(place.position, { segment: uncovered.segment, offset: uncovered.position }) < 0);
  const outcome =
    result.outcome === 'fault'
      ? 'fault'
      : !place
        ? 'missing'
        : isCovered && (result.outcome === 'whole' || uncovered)
          ? 'proved'
          : 'undecided';
  const found = place ? toldEvent(place.event) : null;
  const details = outcome === 'missing' ? `no event ${uuid} is in ${folder}` : describe(result, folder);
  if (options.json) print(JSON.stringify({ event: uuid, outcome, folder, details, found }));
  else {
    const about = found ? `${found.time} ${found.id} ${found.account} ${found.path ?? ''} ${found.size ?? ''}`.trimEnd() : uuid;
    print(visible(`${outcome}: ${about}`));
    if (outcome !== 'proved') print(details);
  }
  return { proved: exitCode.done, fault: exitCode.mismatch, missing: exitCode.mismatch, undecided: exitCode.undecided }[outcome];
}

function toldEvent(event: ServiceEvent): NonNullable<z.infer<typeof receiptResult>['found']> {
  const { path, total_write } = event.data;
  const time = new Date(eventTimeMs(event)).toISOString();
  return {
    id: event.id,
    time,
    account: event.account.name,
    path: typeof path === 'string' ? path : null,
    size: typeof total_write === 'number' ? total_write : null,
  };
}

async function findJournalled(folder: string, uuid: string): Promise<{ event: ServiceEvent; position: LogPosition } | undefined> {
  const journal = {
    openReader: (onBadLine: (bad: BadLine) => void) => new JournalReader(folder, onBadLine),
    since: (sinceMs: number | undefined) => eventsSince(folder, sinceMs),
  };
  for await (const { event, position } of journalEvents(journal, { id: [], uuid: [uuid] }, () => {})) return { event, position };
  return undefined;
}

async function findExported(folder: string, uuid: string): Promise<{ event: ServiceEvent; position: undefined } | undefined> {
  for await (const event of exportedEvents(folder)) if (event.uuid === uuid) return { event, position: undefined };
  return undefined;
}

async function verifyFolder(
  folder: string,
  given: KeyObject | undefined,
  rest: { witness: readonly Checkpoint[]; sinceMs: number | undefined },
): Promise<{ result: Verification; hasKey: boolean }> {
  const publicKey = given ?? ownKey(journalKeyPath(dirname(folder)));
  return { result: await verifyJournal({ folder, publicKey, ...rest }), hasKey: publicKey !== undefined };
}

async function verifyExported(folder: string, given: KeyObject | undefined, witness: readonly Checkpoint[]): Promise<Verification> {
  const publicKey = given ?? readPublicKey(join(folder, 'public-key.pem'));
  const chain = await verifyCheckpoints({ folder, witness });
  return chain.outcome === 'fault' ? chain : { ...chain, ...(await verifyExport(folder, publicKey)), checkpoints: chain.checkpoints };
}

function describe({ outcome, fault, uncovered, checkpoints, segments, bytes, from, to }: Verification, folder: string): string {
  const covered = `${checkpoints} checkpoints, ${segments} segments, ${bytes} bytes`;
  if (fault) return visible(`does not fit: segment ${fault.segment}, byte ${fault.position}: ${fault.what} (${folder})`);
  if (outcome === 'whole') return visible(`whole: ${covered}${from ? `, ${from} to ${to}` : ''}`);
  if (!uncovered) return visible(`cannot be decided: ${folder} has no checkpoints`);
  const { segment, position, since } = uncovered;
  const where = since === undefined ? 'before the first checkpoint' : `since ${since}`;
  return visible(
    `cannot be decided: no checkpoint covers ${uncovered.bytes} bytes ${where} (segment ${segment}, byte ${position}); before: ${covered}`,
  );
}

interface ExportOptions extends ServiceOptions {
  since: number;
  until?: number;
  account?: string;
  format: ExportFormat;
  out: string;
  json?: boolean;
}

export const exported = z.strictObject({ folder: z.string(), events: z.int(), bytes: z.int() });

/** Exports events for other parties (docs/spec/evidence.md#export). */
export async function exportEvents(options: ExportOptions): Promise<number> {
  const folder = await findJournalFolder(options);
  const dataFolder = dirname(folder);
  if (!existsSync(folder))
    throw new ServiceError('bad-request', `There is no journal in ${folder}; name its place with --config or --data-folder.`);
  const key = readKey(journalKeyPath(dataFolder));
  if (!key) throw new ServiceError('bad-request', `${journalKeyPath(dataFolder)} is missing: a service creates it when it starts.`);
  const { out, format, since, until, account } = options;
  makeEmptyFolder(out);
  const selection = {
    id: [],
    uuid: [],
    since,
    ...(until === undefined ? {} : { until }),
    ...(account === undefined ? {} : { account: [account] }),
  };
  const server = peekDataFolder(dataFolder).serverUuid ?? '';
  const onBadLine = ({ path, offset, reason }: { path: string; offset: number; reason: string }) =>
    complain(visible(`${path}, byte ${offset}: ${reason}; skipped`));
  const done = await exportJournal({ folder, out, server, key, selection, format, nowMs: systemClock.nowMs(), onBadLine });
  print(
    options.json ? JSON.stringify({ folder: out, events: done.events, bytes: done.bytes }) : visible(`${done.events} events in ${out}`),
  );
  return exitCode.done;
}

/** Prints the public key of a journal. */
export async function showKey(options: ServiceOptions): Promise<number> {
  const path = journalKeyPath(dirname(await findJournalFolder(options)));
  const key = ownKey(path);
  if (!key) throw new ServiceError('bad-request', `${path} is missing: a service creates it when it starts.`);
  print(key.export({ type: 'spki', format: 'pem' }).toString().trimEnd());
  return exitCode.done;
}

/**
 * Creates a new key. The next checkpoint announces the new key, but is signed with the old key. Later checkpoints are signed with the new
 * key.
 */
export async function rotateKey(options: ServiceOptions): Promise<number> {
  const path = journalKeyPath(dirname(await findJournalFolder(options)));
  if (!existsSync(path)) throw new ServiceError('bad-request', `${path} is missing: a service creates it when it starts.`);
  const { privateKey } = generateKeyPairSync('ed25519');
  try {
    writeKey(nextKeyPath(path), privateKey);
  } catch (error) {
    if (systemErrorCode(error) === 'EEXIST')
      throw new ServiceError(
        'bad-request',
        `${nextKeyPath(path)} already waits for the next checkpoint. A running service writes a checkpoint within a minute, a stopped one when it starts.`,
      );
    throw new ServiceError('bad-request', `${nextKeyPath(path)}: ${fileFault('write', error)}.`, { cause: error });
  }
  print(`the next checkpoint announces the key ${keyName(privateKey)}`);
  return exitCode.done;
}

async function findJournalFolder(options: ServiceOptions): Promise<string> {
  const dataFolder = await serviceFolder(options);
  const folder = journalFolder(dataFolder);
  const nodes = join(dataFolder, 'nodes');
  if (existsSync(folder) || !existsSync(nodes)) return folder;
  const names = readdirSync(nodes).filter((name) => existsSync(journalFolder(join(nodes, name))));
  if (names.length > 1)
    throw new ServiceError(
      'bad-request',
      `${nodes} has a journal for each node; name one: --data-folder ${join(nodes, names[0] as string)}.`,
    );
  return journalFolder(join(nodes, names[0] ?? '1'));
}

function makeEmptyFolder(out: string): void {
  try {
    mkdirSync(out, { recursive: true, mode: 0o700 });
    if (readdirSync(out).length === 0) return;
  } catch (error) {
    throw new ServiceError('bad-request', `--out ${out}: ${fileFault('folder', error)}.`, { cause: error });
  }
  throw new ServiceError('bad-request', `--out ${out} is not empty; name a new folder.`);
}

/** Returns the public part of the key next to a journal; undefined if there is no key, or if it cannot be read. */
function ownKey(path: string): KeyObject | undefined {
  try {
    const key = readKey(path);
    return key && createPublicKey(key);
  } catch (error) {
    complain(visible(`svc: ${readingFault(path, error)}`));
    return undefined;
  }
}

function readPublicKey(file: string): KeyObject {
  const pem = readNamedFile('--public-key', file);
  try {
    return createPublicKey(pem);
  } catch (error) {
    throw new ServiceError('bad-request', `--public-key ${file}: it is not a key in PEM.`, { cause: error });
  }
}

function readWitness(file: string): Checkpoint[] {
  const lines = readNamedFile('--witness', file).split('\n');
  return lines.flatMap((line, index) => {
    if (line.trim() === '') return [];
    const checkpoint = parseWitness(line);
    if (!checkpoint) throw new ServiceError('bad-request', `--witness ${file}, line ${index + 1}: it is not a checkpoint.`);
    return [checkpoint];
  });
}
