import type { Account } from '../../accounts/account.ts';
import { type InspectionOptions, InspectionRules } from '../../accounts/inspection-rules.ts';
import { type PermissionOptions, Permissions } from '../../accounts/permissions.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import { asServiceError } from '../disk/system-errors.ts';
import type { HoldReason, Verdict } from './verdict.ts';

/** The ways in which a held upload can end without becoming a file. */
export type HeldEnd = 'discarded' | 'withdrawn' | 'expired' | 'superseded' | 'refused';

/**
 * The facts about a held upload that are stored in its record. A held upload is complete, but waits for inspections or a review. A release
 * gives the file its final name.
 */
export interface HeldFacts {
  readonly state: 'inspecting' | 'held';
  readonly reason: HoldReason;
  /** Time at which the upload was held, Unix time in milliseconds. */
  readonly sinceMs: number;
  /** SHA-256 of the content in Base64. */
  readonly digest: string;
  readonly inspections: readonly string[];
  readonly verdicts: readonly Verdict[];
  /** The account at the time of the upload. A release uses the rights that the account had then. */
  readonly account: AccountSnapshot;
  /**
   * For an upload with conditions, the state of the target when the upload was held (`stateAt`). A release replaces only a target in this
   * state.
   */
  readonly expected?: string | undefined;
  /** The name that inspections see, if the path has a temporary name (`a.csv` for `a.csv.part`). */
  readonly toldAs?: string | undefined;
  /** The former path of a file that was moved. */
  readonly movedFrom?: VirtualPath | undefined;
  /** The process that currently inspects the upload, and the end of its lease, Unix time in milliseconds. */
  readonly inspector?: { readonly process: string; readonly untilMs: number } | undefined;
}

type AccountSnapshot = Omit<Account, 'permissions' | 'inspections'> & { permissions: PermissionOptions; inspections: InspectionOptions };

export function accountSnapshot({ permissions, inspections, ...account }: Account): AccountSnapshot {
  return { ...account, permissions: permissions.options, inspections: inspections.options };
}

/** Restores the account from the snapshot in a record. */
export function accountOfSnapshot({ permissions, inspections, ...account }: AccountSnapshot): Account {
  const { name } = account;
  return { ...account, permissions: new Permissions(permissions, name), inspections: new InspectionRules(inspections, name) };
}

/** Creates the error that tells a client that its file is held. */
export function heldError(id: string, path: VirtualPath, isRefused = false): ServiceError {
  const message = 'The file is held for review.';
  const details = { held_id: id, held_path: path };
  return isRefused ? new ServiceError('unprocessable', message, { details }) : new ServiceError('held', message, { details });
}

/** Converts the error of writing the event about a held file to the error for the client, which also names the held upload. */
export function asHeld(error: unknown, id: string, path: VirtualPath): ServiceError {
  const meaning = asServiceError(error);
  Object.assign(meaning.details, { held_id: id, held_path: path });
  return meaning;
}

export function noSuchUpload(): ServiceError {
  return new ServiceError('not-found', 'There is no such held upload.');
}
