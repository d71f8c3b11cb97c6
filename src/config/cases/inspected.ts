import type { Account } from '../../accounts/account.ts';
import { neededInspections } from '../../files/inspections/gate.ts';
import { type HoldReason, judge, type Verdict, type VerdictKind } from '../../files/inspections/verdict.ts';
import type { Mounts } from '../../files/mounts.ts';
import type { RequestOperations } from '../../files/needed-rights.ts';
import { statusCodes } from '../../http/reply/error-reply.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import { statusByError } from '../../ssh/sftp/status.ts';
import type { Decision } from '../report-shapes.ts';
import type { Config } from '../schema/schema.ts';
import type { AddStep } from './decision-steps.ts';

interface Inspected {
  account: Account;
  mounts: Mounts;
  needs: RequestOperations;
  path: VirtualPath;
  destination: VirtualPath | undefined;
  isFolder: boolean;
}

/** Adds the inspections of a file to `Decision.inspections`, and describes them in a step. */
export function addInspections(
  { account, mounts, needs, path, destination, isFolder }: Inspected,
  decision: Decision,
  addStep: AddStep,
): void {
  if (account.inspections.isEmpty) return;
  const isMoved = needs.destination === 'rename';
  if (isFolder) {
    if (isMoved)
      addStep(
        'inspection',
        'each file of the folder is judged by the inspections of its new path, unless all of them already applied to its old path',
      );
    return;
  }
  const made = destination ?? (needs.source === 'createFile' ? path : undefined);
  if (made === undefined) return;
  const at = (one: VirtualPath) => {
    const location = mounts.locate(one);
    return neededInspections({ account, mounts }, one, location.kind === 'real' ? location.realPath : '');
  };
  const uuids = [...at(made)];
  const before = isMoved ? at(path) : undefined;
  const isJudged = uuids.some((uuid) => !before?.has(uuid));
  const rule = account.inspections.ruleAt(made);
  const by =
    rule === undefined ? 'the general list applies' : `rule ${rule} "${account.inspections.options.rules[rule - 1]?.expression}" matches`;
  const outcomes = isJudged ? `the file is judged by ${uuids.join(', ')}` : 'the file is not judged';
  addStep(
    'inspection',
    `${made}: ${by}; ${outcomes}${uuids.length > 0 && !isJudged ? ' again: the same inspections applied to its old path' : ''}`,
  );
  decision.inspections = isJudged ? uuids : [];
}

/** A verdict in a test case. `late` means that there is no verdict within `answer_within`. */
export const mockedVerdicts = ['accept', 'refuse', 'hold', 'failure', 'larger', 'late'] as const;
export type MockedVerdict = (typeof mockedVerdicts)[number];

/** A decision after the inspections. */
export interface JudgedDecision extends Omit<Decision, 'allowed'> {
  outcome: 'allowed' | 'refused' | 'held';
  held_reason?: HoldReason;
}

/**
 * Applies simulated verdicts to an allowed request. An inspection without a verdict accepts the file.
 *
 * @returns the decision, and the UUIDs of the inspections that have a verdict but do not apply to the file
 */
export function judgeMocked(
  { inspections, server }: Config,
  { allowed, ...decision }: Decision,
  verdicts: Readonly<Record<string, MockedVerdict>>,
  isSftp: boolean,
): { judged: JudgedDecision; unused: string[] } {
  const uuids = decision.inspections ?? [];
  const unused = Object.keys(verdicts).filter((uuid) => !uuids.includes(uuid));
  const judged = (outcome: JudgedDecision['outcome'], change: Partial<JudgedDecision> = {}) => ({
    judged: { ...decision, outcome, ...change },
    unused,
  });
  if (!allowed) return judged('refused');
  const all = uuids.map((inspection): Verdict => {
    const mocked = verdicts[inspection] ?? 'accept';
    const verdict: VerdictKind = mocked === 'late' ? 'hold' : mocked;
    const options = inspections[inspection];
    const effects = { accept: 'accept', refuse: 'refuse', hold: 'hold', failure: options?.on_failure, larger: options?.on_larger } as const;
    return { inspection, verdict, effect: effects[verdict] ?? 'hold', timeMs: 0 };
  });
  const judgement = judge(all);
  const status = (code: 'unprocessable' | 'held') => (isSftp ? statusByError[code] : statusCodes[code]);
  if (judgement.outcome === 'accept') return judged('allowed');
  if (judgement.outcome === 'refuse')
    return judged('refused', { status: status('unprocessable'), reason: `the inspection ${judgement.by.inspection} refuses the file` });
  const isLate = all.some(({ inspection }) => verdicts[inspection] === 'late');
  const heldReason = isLate ? 'late' : judgement.reason;
  const isTold = server.held.answer === 'refuse';
  return judged('held', {
    status: isTold ? status('unprocessable') : isSftp ? null : status('held'),
    reason: `the file is held (${heldReason})`,
    held_reason: heldReason,
  });
}
