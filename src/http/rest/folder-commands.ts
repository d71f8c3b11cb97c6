import type { AccountFiles } from '../../files/account-files.ts';
import { isServiceError, type Problem, ServiceError } from '../../lib/errors.ts';
import { isObject } from '../../lib/json.ts';
import { inTurns } from '../../lib/turns/in-turns.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import { type HttpContext, pathOf } from '../environment.ts';
import { jsonReply } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { clientOf, type Exchange } from '../request/exchange.ts';
import { mediaTypeOfRequest } from '../request/reply-format.ts';
import { readJsonBody } from '../request/request-body.ts';
import { deleteMember, eachMember, type MemberResult, memberErrorsReply, runTrigger } from './member-actions.ts';
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
export async function postFolderCommands(c: HttpContext): Promise<Response> {
  const exchange = c.env;
  const folder = pathOf(c);
  if (mediaTypeOfRequest(exchange) !== 'application/json') {
    throw new ServiceError('media-type-unsupported', 'Folder commands are sent as application/json.');
  }
  const commands = parseFolderCommands(await readJsonBody(exchange));
  clientOf(exchange).files.requireFolder(folder);
  const results: MemberResult[] = [];
  for await (const command of inTurns(commands)) results.push(...(await runCommand(exchange, folder, command)));
  if (results.some(({ problem }) => problem)) return respond(c, memberErrorsReply(exchange, 422, results));
  return respond(c, jsonReply(200, { results: results.map(({ target }) => ({ target })) }));
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
  if (typeof command !== 'string') throw malformed(`${where}.command must be a string.`);
  const targets = typeof target === 'string' ? [target] : target;
  if (!Array.isArray(targets) || targets.length === 0 || !targets.every((item) => typeof item === 'string')) {
    throw malformed(`${where}.target must be a string or a list of strings.`);
  }
  if (Array.isArray(target) && command.startsWith('create-folder') && builtInCommands.has(command)) {
    throw malformed(`${where}.target of "${command}" must be a string.`);
  }
  return { command, targets };
}

function refuseOthers(value: Record<string, unknown>, known: readonly string[], where: string): void {
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined) throw malformed(`${where} has the unknown member "${unknown}".`);
}

function malformed(message: string): ServiceError {
  return new ServiceError('bad-request', message);
}

async function runCommand(exchange: Exchange, folder: VirtualPath, { command, targets }: FolderCommand): Promise<MemberResult[]> {
  const { files } = clientOf(exchange);
  if (builtInCommands.has(command)) return eachMember(folder, targets, (path) => runBuiltIn(files, command, path));
  const trigger = findTrigger(exchange, command);
  if (trigger) return runTrigger(exchange, folder, trigger, targets);
  const problem = { code: 'unprocessable', message: `Unknown command "${command}".` } as const;
  return targets.map((target) => ({ target, problem, status: 422 }));
}

async function runBuiltIn(files: AccountFiles, command: string, path: VirtualPath): Promise<readonly Problem[]> {
  if (command === 'delete') return deleteMember(files, path);
  try {
    await files.createFolder(path);
  } catch (error) {
    const isThere = isServiceError(error, 'exists') && command === 'create-folder-if-missing';
    if (!isThere || !files.look(path, 'createFolder')?.isFolder) throw error;
  }
  return [];
}
