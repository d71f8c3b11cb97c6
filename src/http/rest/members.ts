import type { AccountFiles } from '../../files/account-files.ts';
import type { ListedEntry } from '../../files/entry.ts';
import type { Search } from '../../files/operations/search.ts';
import { sortedByName } from '../../files/operations/sorted-listing.ts';
import { cooperatively } from '../../lib/concurrency/event-loop.ts';
import { isServiceError, type Problem, ServiceError } from '../../lib/errors.ts';
import { namesType } from '../../lib/headers/accept-header.ts';
import { isObject } from '../../lib/json.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import { handleFormPost } from '../html/form-post.ts';
import { type AskedSearch, sendHtmlListing, sendSearchPage } from '../html/html-listing.ts';
import { prefers, problemItem } from '../html/problem-message.ts';
import { BodyWriter } from '../reply/body-writer.ts';
import { statusCodes } from '../reply/error-reply.ts';
import { clientGone, isClientGone } from '../reply/outgoing.ts';
import { jsonReply } from '../reply/reply.ts';
import { respond, stream } from '../reply/respond.ts';
import { sendChunks } from '../reply/send-chunks.ts';
import { type Exchange, type HttpMiddleware, header } from '../request/exchange.ts';
import { FolderRedirect } from '../request/member-url.ts';
import { folderFormat, mediaTypeOfRequest } from '../request/reply-format.ts';
import { readJsonBody } from '../request/request-body.ts';
import {
  allResults,
  deleteMember,
  destinationFolder,
  eachMember,
  eachResult,
  findTrigger,
  isTransfer,
  type MemberResult,
  memberErrorsReply,
  restoreMember,
  runTrigger,
  transferMembers,
} from './member-actions.ts';
import { sendZip } from './zip-download.ts';

/** Returns the JSON members that describe one entry of a folder (docs/spec/files.md#listings). Times are in seconds, to the millisecond. */
function entryMembers(entry: ListedEntry): string {
  const modified = Math.round(entry.modifiedMs) / 1000;
  return `"name":${JSON.stringify(entry.name)},"is_directory":${entry.isFolder},"modified":${modified},"size":${entry.sizeBytes}`;
}

/** Answers GET and HEAD of a folder with JSON, as a stream. @param facts JSON members that precede `content` */
async function sendJsonListing(exchange: Exchange, facts: object): Promise<Response> {
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    vary: 'accept, content-type',
  };
  return sendChunks(exchange, headers, jsonChunks(facts, sortedByName(exchange.files.openListing(exchange.path))));
}

async function* jsonChunks(facts: object, listing: AsyncIterable<ListedEntry[]>): AsyncGenerator<string> {
  const open = JSON.stringify({ ...facts, content: [] }).slice(0, -2);
  let before = open;
  for await (const batch of listing) {
    yield before + batch.map((entry) => `{${entryMembers(entry)}}`).join(',');
    before = batch.length > 0 ? ',' : '';
  }
  yield before === open ? `${open}]}` : ']}';
}

/** Media type of replies with a line of JSON for each result of a search, or for each target of a command. */
const linesType = 'application/x-ndjson';

/**
 * Returns the requested search in a folder (`?search=TEXT`), or in all files of the account (`&scope=everywhere`). If no search is
 * requested, the text is empty.
 */
function askedSearch({ target, path }: Exchange): AskedSearch {
  const query = new URLSearchParams(target.query);
  const isEverywhere = query.get('scope') === 'everywhere';
  // Visitors of a link cannot search.
  return {
    text: target.kind === 'link' ? '' : (query.get('search') ?? '').trim(),
    isEverywhere,
    top: isEverywhere ? ('/' as VirtualPath) : path,
  };
}

function asksForLines(exchange: Exchange): boolean {
  return namesType(header(exchange, 'accept'), linesType);
}

/** Answers GET of a search with a line of JSON for each result, sent as soon as it is found (docs/spec/files.md#listings). */
function sendFoundLines(exchange: Exchange, { top, text }: AskedSearch): Promise<Response> {
  const headers = { 'content-type': linesType, 'cache-control': 'no-store', vary: 'accept, content-type' };
  return sendChunks(exchange, headers, lines(exchange.files.search(top, text)), { startsAfter: 0 });
}

async function* lines(search: Search): AsyncGenerator<string> {
  for await (const batch of search) yield batch.map((entry) => `{"path":${JSON.stringify(entry.path)},${entryMembers(entry)}}\n`).join('');
  if (search.isTruncated) yield '{"truncated":true}\n';
}

/** Answers GET and HEAD of a folder in the format that the client asks for. @param facts JSON members that precede those of the folder */
export async function getFolder(exchange: Exchange, facts: object = {}): Promise<Response> {
  const format = folderFormat(exchange);
  const search = askedSearch(exchange);
  if (exchange.isHead) exchange.files.emitHead(exchange.path, true);
  else if (search.text !== '' && asksForLines(exchange)) return sendFoundLines(exchange, search);
  else if (search.text !== '' && format !== 'zip')
    return format === 'json' ? sendFoundLines(exchange, search) : sendSearchPage(exchange, search);
  switch (format) {
    case 'json':
      return sendJsonListing(exchange, facts);
    case 'zip':
      return sendZip(exchange);
    case 'html':
      return sendHtmlListing(exchange);
    default:
      return format satisfies never;
  }
}

/** Answers POST to a folder: a form of the pages, or a list of commands. */
export async function postFolder(exchange: Exchange): Promise<Response> {
  const type = mediaTypeOfRequest(exchange);
  if (type === 'multipart/form-data' || type === 'application/x-www-form-urlencoded') return handleFormPost(exchange);
  return postFolderCommands(exchange);
}

/** Redirects a POST to a folder if the URL lacks the final slash. */
export const redirectPostOfFolder: HttpMiddleware = ({ env: { method, target, client } }, next) => {
  if (method === 'POST' && target.kind === 'member' && client?.files.inspect(target.path)?.isFolder) throw new FolderRedirect(target.path);
  return next();
};

/** One command of a request. `targets` is a list even if the request names a single target. */
interface FolderCommand {
  command: string;
  targets: string[];
  destination?: string;
  /** For `move` and `copy`, whether files at the destination may be replaced. */
  overwrite?: boolean;
  /** For `move` and `copy` of a single target, the target's name at the destination. */
  newName?: string | undefined;
}

/** Minimum time between two progress lines of a copy, in milliseconds. */
const progressEveryMs = 200;

const maxTargets = 10_000;

/** Commands of every folder, besides `move` and `copy`. Custom triggers add others (docs/spec/files.md#folder-commands). */
const builtInCommands = new Set(['delete', 'create-folder', 'create-folder-if-missing', 'restore']);

const commonMembers = ['command', 'target'];

/**
 * Handles a POST of folder commands (docs/spec/files.md#folder-commands). The whole request is checked first. Then all commands run in
 * order, even if one fails.
 */
async function postFolderCommands(exchange: Exchange): Promise<Response> {
  const { path: folder } = exchange;
  if (mediaTypeOfRequest(exchange) !== 'application/json') {
    throw new ServiceError('media-type-unsupported', 'Folder commands must be sent as application/json.');
  }
  const commands = parseFolderCommands(await readJsonBody(exchange));
  for (const { destination } of commands) if (destination !== undefined) destinationFolder(folder, destination);
  exchange.files.requireFolder(folder);
  if (asksForLines(exchange)) {
    const stop = stopSignal(exchange);
    return sendLines(exchange, runAll(exchange, folder, commands, stop), stop);
  }
  const results = await allResults(runAll(exchange, folder, commands));
  if (results.some(({ problem }) => problem)) return respond(exchange, memberErrorsReply(exchange, 422, results));
  const status = results.some(({ held }) => held) ? 202 : 200;
  return respond(exchange, jsonReply(status, { results: results.map(({ target, held }) => ({ target, held: held?.id })) }));
}

/** Returns a signal that is aborted when the client disconnects, provided that the client sent `Prefer: stop-when-gone` (RFC 7240). */
function stopSignal(exchange: Exchange): AbortSignal {
  const gone = new AbortController();
  const stop = () => gone.abort(clientGone());
  if (!prefers(exchange, 'stop-when-gone')) return gone.signal;
  if (isClientGone(exchange.outgoing)) stop();
  else exchange.outgoing.once('close', exchange.catching(stop));
  return gone.signal;
}

/** Sends a line for each finished target. The commands continue if the client disconnects, unless `stop` is aborted. */
function sendLines(exchange: Exchange, results: AsyncIterable<MemberResult>, stop: AbortSignal): Promise<Response> {
  const headers = { 'content-type': linesType, 'cache-control': 'no-store' };
  const tellsProgress = prefers(exchange, 'progress');
  const { clock } = exchange.service;
  let toldMs = Number.NEGATIVE_INFINITY;
  return stream(exchange, 200, headers, async () => {
    const writer = new BodyWriter(exchange);
    for await (const { target, problem, held, progress } of results) {
      if (progress) {
        if (!tellsProgress || clock.monotonicMs() < toldMs + progressEveryMs) continue;
        toldMs = clock.monotonicMs();
        if (!writer.isGone) await writer.write(Buffer.from(`${JSON.stringify({ target, progress })}\n`)).catch(() => {});
        continue;
      }
      await exchange.service.events.grouped();
      const item = problemItem(exchange, problem, target);
      const status = problem && item.durable === undefined ? statusCodes[problem.code] : undefined;
      const line = JSON.stringify({ ...item, status, held: held?.id });
      if (!writer.isGone) await writer.write(Buffer.from(`${line}\n`)).catch(() => {});
      if (stop.aborted) return;
    }
    await writer.end();
  });
}

async function* runAll(
  exchange: Exchange,
  folder: VirtualPath,
  commands: readonly FolderCommand[],
  stop?: AbortSignal,
): AsyncGenerator<MemberResult> {
  for await (const command of cooperatively(commands)) yield* runCommand(exchange, folder, command, stop);
}

/**
 * Checks a folder command body (docs/spec/files.md#folder-commands).
 *
 * @throws ServiceError `bad-request`, which names the faulty part of the body. No command has run in that case
 */
export function parseFolderCommands(body: unknown): FolderCommand[] {
  if (!isObject(body)) throw malformed('The body must be an object with the member "commands".');
  refuseOthers(body, ['commands'], 'The body');
  if (!Array.isArray(body.commands)) throw malformed('"commands" must be a list.');
  if (body.commands.length === 0) throw malformed('"commands" is empty.');
  const commands = body.commands.map(parseCommand);
  if (commands.reduce((sum, command) => sum + command.targets.length, 0) > maxTargets)
    throw malformed(`More than ${maxTargets} targets in one request.`);
  return commands;
}

function parseCommand(value: unknown, index: number): FolderCommand {
  const where = `"commands[${index}]"`;
  if (!isObject(value)) throw malformed(`${where} must be an object.`);
  const { command, target, destination, overwrite = false, new_name: newName } = value;
  if (typeof command !== 'string') throw malformed(`${where}.command must be a string.`);
  refuseOthers(value, isTransfer(command) ? [...commonMembers, 'destination', 'overwrite', 'new_name'] : commonMembers, where);
  const targets = typeof target === 'string' ? [target] : target;
  if (!Array.isArray(targets) || targets.length === 0 || !targets.every((item) => typeof item === 'string')) {
    throw malformed(`${where}.target must be a string or a list of strings.`);
  }
  if (Array.isArray(target) && command.startsWith('create-folder') && builtInCommands.has(command)) {
    throw malformed(`${where}.target of "${command}" must be a string.`);
  }
  if (!isTransfer(command)) return { command, targets };
  if (typeof destination !== 'string') throw malformed(`${where}.destination must be a string.`);
  if (typeof overwrite !== 'boolean') throw malformed(`${where}.overwrite must be true or false.`);
  if (newName !== undefined && (typeof newName !== 'string' || typeof target !== 'string'))
    throw malformed(`${where}.new_name must be a string, for one target that is not in a list.`);
  return { command, targets, destination, overwrite, newName };
}

function refuseOthers(value: Record<string, unknown>, known: readonly string[], where: string): void {
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined) throw malformed(`${where} has the unknown member "${unknown}".`);
}

function malformed(message: string): ServiceError {
  return new ServiceError('bad-request', message);
}

function runCommand(
  exchange: Exchange,
  folder: VirtualPath,
  command: FolderCommand,
  stop: AbortSignal | undefined,
): Iterable<MemberResult> | AsyncIterable<MemberResult> {
  const { files } = exchange;
  const { command: name, targets, destination = '', overwrite = false, newName } = command;
  if (name === 'restore') return eachResult(targets, (id) => restore(files, id));
  if (builtInCommands.has(name)) return eachMember(folder, targets, (path) => runBuiltIn(files, name, path, stop));
  if (isTransfer(name)) {
    const transfer = { kind: name, destination: destinationFolder(folder, destination), overwrite, newName };
    return transferMembers(files, folder, targets, transfer, stop);
  }
  const trigger = findTrigger(exchange, name);
  if (trigger) return runTrigger(exchange, folder, trigger, targets);
  const problem = { code: 'unprocessable', message: `Unknown command "${name}".` } as const;
  return targets.map((target) => ({ target, problem, status: 422 }));
}

async function restore(files: AccountFiles, id: string): Promise<[]> {
  await restoreMember(files, id);
  return [];
}

async function runBuiltIn(
  files: AccountFiles,
  command: string,
  path: VirtualPath,
  stop: AbortSignal | undefined,
): Promise<readonly Problem[]> {
  if (command === 'delete') return deleteMember(files, path, stop);
  try {
    await files.createFolder(path);
  } catch (error) {
    const isThere = isServiceError(error, 'exists') && command === 'create-folder-if-missing';
    if (!isThere || !files.inspect(path, 'createFolder')?.isFolder) throw error;
  }
  return [];
}
