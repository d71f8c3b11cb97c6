import { systemErrorCode } from '../lib/errors.ts';

const readFaults: Record<string, string> = {
  ENOENT: 'the file does not exist',
  EISDIR: 'it is a folder',
  EACCES: 'this account may not read it',
};
const folderFaults: Record<string, string> = {
  EEXIST: 'it is a file, not a folder',
  ENOTDIR: 'a part of the path is a file, not a folder',
  EACCES: 'this account may not make it',
};
const writeFaults: Record<string, string> = {
  ENOENT: 'its folder does not exist',
  EISDIR: 'it is a folder',
  EACCES: 'this account may not write it',
};

/** Why a file that somebody named cannot be read, in words. */
export function readFault(error: unknown): string {
  return inWords(readFaults, error);
}

/** Why a file that somebody named cannot be written, in words. */
export function writeFault(error: unknown): string {
  return inWords(writeFaults, error);
}

/** Why a folder that somebody named cannot be made, in words. */
export function folderFault(error: unknown): string {
  return inWords(folderFaults, error);
}

function inWords(faults: Record<string, string>, error: unknown): string {
  return faults[systemErrorCode(error) ?? ''] ?? (error as Error).message;
}
