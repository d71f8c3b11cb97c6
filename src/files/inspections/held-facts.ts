import type { Account } from '../../accounts/account.ts';
import { type InspectionOptions, InspectionRules } from '../../accounts/inspection-rules.ts';
import { type PermissionOptions, Permissions } from '../../accounts/permissions.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { HoldReason, Verdict } from './verdict.ts';

/** How a held upload may end without a file. */
export type HeldEnd = 'discarded' | 'withdrawn' | 'expired' | 'superseded' | 'refused';

/** Facts of a held upload beside its content. */
export interface HeldFacts {
  readonly state: 'inspecting' | 'held';
  readonly reason: HoldReason;
  /** Since when, Unix time in milliseconds. */
  readonly sinceMs: number;
  /** SHA-256 in Base64. */
  readonly digest: string;
  readonly inspections: readonly string[];
  readonly verdicts: readonly Verdict[];
  /** The account at the time of the upload; a release uses its rights. */
  readonly account: AccountSnapshot;
  /** The state of the name when a client set conditions (`stateAt`); a release replaces nothing else. */
  readonly expected?: string | undefined;
  /** The name by which inspections judge it, if its path has a temporary one. */
  readonly toldAs?: string | undefined;
  /** Where a file lay that was moved. */
  readonly movedFrom?: VirtualPath | undefined;
  /** The process that inspects it at present. */
  readonly inspector?: { readonly process: string; readonly untilMs: number } | undefined;
}

type AccountSnapshot = Omit<Account, 'permissions' | 'inspections'> & { permissions: PermissionOptions; inspections: InspectionOptions };

export function accountSnapshot({ permissions, inspections, ...account }: Account): AccountSnapshot {
  return { ...account, permissions: permissions.options, inspections: inspections.options };
}

/** The account of a record. */
export function accountOfSnapshot({ permissions, inspections, ...account }: AccountSnapshot): Account {
  const { name } = account;
  return { ...account, permissions: new Permissions(permissions, name), inspections: new InspectionRules(inspections, name) };
}
