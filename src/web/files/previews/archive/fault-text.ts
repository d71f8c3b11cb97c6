import { type PreviewTextName, previewText } from '../preview-text.ts';
import { Refusal } from '../remote-file.ts';
import { ZipFault, type ZipFaultReason } from './zip-fault.ts';

const texts: Readonly<Record<ZipFaultReason, PreviewTextName>> = {
  'no-archive': 'noArchive',
  damaged: 'damagedArchive',
  encrypted: 'encryptedMember',
  'unknown-packing': 'unknownPacking',
  'in-parts': 'archiveInParts',
  'too-large': 'tooLargeToUnpack',
};

/** What is wrong with an archive or a member, for people. @throws `error` when it is nothing of the kind */
export function faultText(error: unknown): string {
  if (error instanceof ZipFault) return previewText(texts[error.reason]);
  if (error instanceof Refusal) return error.message;
  throw error;
}
