import type { AccountFiles } from '../../files/account-files.ts';
import { ServiceError } from '../../lib/errors.ts';
import { inTurns } from '../../lib/in-turns.ts';
import { checkMemberName, memberPath, type VirtualPath } from '../../lib/virtual-path.ts';
import { type ErrorItem, errorsReply } from '../reply/error-reply.ts';
import { jsonReply, type Reply } from '../reply/reply.ts';
import { clientOf, type Exchange } from '../request/exchange.ts';
import { mediaTypeOfRequest } from '../request/reply-format.ts';
import { readJsonBody } from '../request/request-body.ts';
import { reservedName } from '../request/request-target.ts';
import { findTrigger } from './triggers.ts';

/** One command of a request, its target always as a list. */
export interface FolderCommand {
  command: string;
  targets: string[];
}

/** Most commands and most targets in one request; more is refused as malformed. */
const mostTargets = 10_000;

/** Commands of every folder; custom triggers add their own (docs/spec/files.md#folder-commands). */
const builtInCommands = new Set(['delete', 'create-folder', 'create-folder-if-missing']);

/** POST of folder commands (docs/spec/files.md#folder-commands): checked whole before the first runs, then run in order, all of them. */
export async function postFolderCommands(exchange: Exchange, folder: VirtualPath): Promise<Reply> {
  if (mediaTypeOfRequest(exchange) !== 'application/json') {
    throw new ServiceError('media-type-unsupported', 'Folder commands are sent as application/json.');
  }
  const commands = parseFolderCommands(await readJsonBody(exchange));
  const { files } = clientOf(exchange);
  files.requireFolder(folder);
  const items: ErrorItem[] = [];
  for await (const command of inTurns(commands)) items.push(...(await runCommand(exchange, files, folder, command)));
  if (items.some((item) => item.message !== null)) return errorsReply(422, items);
  return jsonReply(200, { results: items.map(({ target }) => ({ target })) });
}

/**
 * Checks a folder command body (docs/spec/files.md#folder-commands).
 *
 * @throws ServiceError `bad-request` naming the member at fault; then nothing is done
 */
export function parseFolderCommands(body: unknown): FolderCommand[] {
  if (!isObject(body)) throw malformed('The body must be an object with the member "commands".');
  refuseOthers(body, ['commands'], 'The body');
  if (!Array.isArray(body.commands)) throw malformed('"commands" must be a list.');
  if (body.commands.length === 0) throw malformed('"commands" is empty.');
  const commands = body.commands.map(parseCommand);
  if (commands.reduce((sum, command) => sum + command.targets.length, 0) > mostTargets)
    throw malformed(`More than ${mostTargets} targets.`);
  return commands;
}

function parseCommand(value: unknown, index: number): FolderCommand {
  const where = `"commands[${index}]"`;
  if (!isObject(value)) throw malformed(`${where} must be an object.`);
  refuseOthers(value, ['command', 'target'], where);
  const { command, target } = value;
  if (typeof command !== 'string') throw malformed(`${where}.command must be a text.`);
  const targets = typeof target === 'string' ? [target] : target;
  if (!Array.isArray(targets) || targets.length === 0 || !targets.every((item) => typeof item === 'string')) {
    throw malformed(`${where}.target must be a text or a list of texts.`);
  }
  if (Array.isArray(target) && command.startsWith('create-folder') && builtInCommands.has(command)) {
    throw malformed(`${where}.target of "${command}" must be a text.`);
  }
  return { command, targets };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function refuseOthers(value: Record<string, unknown>, known: readonly string[], where: string): void {
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined) throw malformed(`${where} has the unknown member "${unknown}".`);
}

function malformed(message: string): ServiceError {
  return new ServiceError('bad-request', message);
}

async function runCommand(exchange: Exchange, files: AccountFiles, folder: VirtualPath, command: FolderCommand): Promise<ErrorItem[]> {
  if (!builtInCommands.has(command.command)) return runTrigger(exchange, files, folder, command);
  const items: ErrorItem[] = [];
  for await (const target of inTurns(command.targets)) {
    const faults = await messagesOf(() => runBuiltIn(files, folder, command.command, target));
    items.push(...faults.map((message) => ({ target, message })));
  }
  return items;
}

// One item with null for a success; a recursive delete that fails half-way gives one for each path left.
async function messagesOf(action: () => Promise<string[]>): Promise<(string | null)[]> {
  try {
    const messages = await action();
    return messages.length === 0 ? [null] : messages;
  } catch (error) {
    if (error instanceof ServiceError && error.code !== 'internal') return [error.message];
    throw error;
  }
}

async function runBuiltIn(files: AccountFiles, folder: VirtualPath, command: string, target: string): Promise<string[]> {
  const path = targetPath(folder, target);
  if (command === 'delete') return deleteMember(files, path);
  try {
    await files.createFolder(path);
  } catch (error) {
    const isThere = error instanceof ServiceError && error.code === 'exists' && command === 'create-folder-if-missing';
    if (!isThere || !files.look(path, ['create-folder'])?.isFolder) throw error;
  }
  return [];
}

/** Deletes a file, or a folder with all it holds. @returns a message for each path that was left */
export async function deleteMember(files: AccountFiles, path: VirtualPath): Promise<string[]> {
  const entry = files.look(path, ['delete-file', 'delete-folder']);
  if (!entry?.isFolder) {
    await files.deleteFile(path);
    return [];
  }
  const left = await files.deleteFolder(path);
  return left.map((item) => `${item.relativePath}: ${item.message}`);
}

/**
 * The path of a command's target, one member name of the folder.
 *
 * @throws ServiceError `name-invalid` or `name-reserved`
 */
export function targetPath(folder: VirtualPath, target: string): VirtualPath {
  checkMemberName(target);
  if (target.includes('\\')) throw new ServiceError('name-invalid', 'A target must not contain a path separator.');
  if (folder === '/' && target === reservedName) throw new ServiceError('name-reserved', 'This name is reserved.');
  return memberPath(folder, target);
}

async function runTrigger(exchange: Exchange, files: AccountFiles, folder: VirtualPath, command: FolderCommand): Promise<ErrorItem[]> {
  const trigger = findTrigger(exchange, command.command);
  if (!trigger) return command.targets.map((target) => ({ target, message: `Unknown command "${command.command}".` }));
  const items: ErrorItem[] = [];
  const present: string[] = [];
  for await (const target of inTurns(command.targets)) {
    const [message] = await messagesOf(async () => {
      if (!files.look(targetPath(folder, target), ['read', 'list'])) throw new ServiceError('not-found', 'Path not found.');
      return [];
    });
    if (message === null) present.push(target);
    items.push({ target, message: message ?? null });
  }
  if (present.length > 0) await files.runTrigger(folder, trigger.name, present);
  return items;
}
