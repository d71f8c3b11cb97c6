import { createHash, type KeyObject, sign, verify } from 'node:crypto';
import { closeSync, existsSync, openSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { ServiceError } from '../../lib/errors.ts';
import type { ServiceEvent } from '../event.ts';
import { checkpointsPath, keyName } from './checkpoints.ts';
import type { BadLine } from './event-log.ts';
import { JournalReader, parseEvent } from './reader.ts';
import { type EventSelection, eventTimeMs, isSelected } from './search/event-selection.ts';
import { eventsSince } from './segments.ts';
import { publicKeyFromName, readCheckpoints, type Verification } from './verify.ts';

export const exportFormats = ['ndjson', 'csv'] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** Describes an export: the selection, and the digest of the events. It is signed with the journal's key. */
const statementSchema = z.strictObject({
  server: z.string(),
  since: z.string().nullable(),
  until: z.string().nullable(),
  account: z.string().nullable(),
  format: z.enum(exportFormats),
  events: z.int(),
  bytes: z.int(),
  sha256: z.string(),
  /** `hash` of the newest checkpoint at the time of the export. */
  checkpoint: z.string().nullable(),
  time: z.string(),
  key: z.string(),
  signature: z.string(),
});
type Statement = z.infer<typeof statementSchema>;

export interface ExportOptions {
  folder: string;
  /** The folder of the export, which must be new or empty. */
  out: string;
  server: string;
  key: KeyObject;
  selection: EventSelection & { since: number };
  format: ExportFormat;
  nowMs: number;
  onBadLine: (bad: BadLine) => void;
}

const statementName = 'export.json';

export function isExport(folder: string): boolean {
  return existsSync(join(folder, statementName));
}

/** Writes the selected events, the checkpoints and the public key. @returns the number and total size of the events */
export async function exportJournal(options: ExportOptions): Promise<Pick<Statement, 'events' | 'bytes'>> {
  const { folder, out, server, key, selection, format, nowMs } = options;
  const counted = await writeEvents(options);
  const checkpoints = readCheckpoints(folder);
  const unsigned: Omit<Statement, 'signature'> = {
    server,
    since: new Date(selection.since).toISOString(),
    until: selection.until === undefined ? null : new Date(selection.until).toISOString(),
    account: selection.account?.[0] ?? null,
    format,
    ...counted,
    checkpoint: checkpoints.at(-1)?.hash ?? null,
    time: new Date(nowMs).toISOString(),
    key: keyName(key),
  };
  writeFileSync(checkpointsPath(out), checkpoints.map((checkpoint) => `${JSON.stringify(checkpoint)}\n`).join(''), {
    flag: 'wx',
    mode: 0o600,
  });
  const publicKey = publicKeyFromName(unsigned.key).export({ type: 'spki', format: 'pem' });
  writeFileSync(join(out, 'public-key.pem'), publicKey, { flag: 'wx', mode: 0o644 });
  const signature = sign(null, Buffer.from(JSON.stringify(unsigned)), key).toString('base64');
  // The statement is written last. Until then, the folder does not count as an export.
  writeFileSync(join(out, statementName), `${JSON.stringify({ ...unsigned, signature })}\n`, { flag: 'wx', mode: 0o600 });
  return counted;
}

async function writeEvents({
  folder,
  out,
  selection,
  format,
  onBadLine,
}: ExportOptions): Promise<Pick<Statement, 'events' | 'bytes' | 'sha256'>> {
  const fd = openSync(eventsPath(out, format), 'wx', 0o600);
  const reader = new JournalReader(folder, onBadLine);
  const hash = createHash('sha256');
  let [events, bytes] = [0, 0];
  const write = (text: Buffer) => {
    for (let done = 0; done < text.length; ) done += writeSync(fd, text, done);
    hash.update(text);
    bytes += text.length;
  };
  try {
    if (format === 'csv') write(Buffer.from(csvHead));
    for (let position = eventsSince(folder, selection.since); ; ) {
      const block = await reader.next(position);
      if (block.events.length === 0) break;
      position = block.next;
      const wanted = block.events.filter(({ event, group }) => isSelected(event, selection, group));
      events += wanted.length;
      const newline = Buffer.from('\n');
      write(Buffer.concat(wanted.flatMap(({ event, raw }) => (format === 'csv' ? [Buffer.from(csvRow(event))] : [raw, newline]))));
    }
  } finally {
    reader.close();
    closeSync(fd);
  }
  return { events, bytes, sha256: hash.digest('hex') };
}

/** Yields the events of an export. @throws ServiceError `bad-request` for an export as CSV, which is only meant for spreadsheets */
export async function* exportedEvents(folder: string): AsyncGenerator<ServiceEvent> {
  const path = eventsPath(folder, 'ndjson');
  if (!existsSync(path))
    throw new ServiceError('bad-request', `${folder} is an export as CSV; an event can be found only in an export as NDJSON.`);
  const file = await open(path);
  try {
    for await (const line of file.readLines()) {
      const event = parseEvent(line);
      if (typeof event === 'object') yield event;
    }
  } finally {
    await file.close();
  }
}

function eventsPath(folder: string, format: ExportFormat): string {
  return join(folder, `events.${format}`);
}

const csvHead = 'time,id,uuid,account,account_uuid,address,message,data\r\n';

function csvRow(event: ServiceEvent): string {
  const { id, uuid, account, message, data } = event;
  const time = new Date(eventTimeMs(event)).toISOString();
  const cells = [time, id, uuid, account.name, account.uuid, account.peer.address, message, JSON.stringify(data)];
  return `${cells.map(csvCell).join()}\r\n`;
}

/** Formats a cell (RFC 4180). An apostrophe is put before text that begins like a formula, because a spreadsheet would run the formula. */
function csvCell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/**
 * Checks that the statement of an export is signed with `publicKey`, and that its events match the statement.
 *
 * @throws ServiceError `bad-request` if the statement is not readable
 */
export async function verifyExport(folder: string, publicKey: KeyObject): Promise<Verification> {
  const text = readFileSync(join(folder, statementName), 'utf8').trimEnd();
  const { data: statement } = statementSchema.safeParse(parse(text));
  if (!statement || JSON.stringify(statement) !== text)
    throw new ServiceError('bad-request', `${join(folder, statementName)} is not the statement of an export.`);
  const { signature, ...unsigned } = statement;
  const result: Verification = { outcome: 'whole', checkpoints: 0, segments: 0, bytes: 0, keys: [statement.key], to: statement.time };
  const differs = (what: string): Verification => ({ ...result, outcome: 'fault', fault: { segment: 0, position: 0, what } });
  if (statement.key !== keyName(publicKey)) return differs('the export is signed by another key than the one given');
  if (!verify(null, Buffer.from(JSON.stringify(unsigned)), publicKey, Buffer.from(signature, 'base64')))
    return differs('the signature of export.json is wrong');
  const path = eventsPath(folder, statement.format);
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  if (size !== statement.bytes) return differs(`the events have ${size ?? 0} bytes; ${statement.bytes} were exported`);
  if ((await digest(path)) !== statement.sha256) return differs('the events are not those that were exported');
  return { ...result, bytes: statement.bytes };
}

async function digest(path: string): Promise<string> {
  const hash = createHash('sha256');
  const file = await open(path);
  for await (const chunk of file.createReadStream({ highWaterMark: 1024 * 1024 })) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
