import * as z from 'zod';
import { decision } from '../../config/cases/decision-steps.ts';
import { authTestReport } from '../../config/probe/probe-report.ts';
import { reloadReport } from '../../config/reload-report-schema.ts';
import { validation } from '../../config/validation.ts';
import { shownItems } from '../../control/shown-items.ts';
import { deliveryRecord } from '../../webhooks/records/delivery-record-schema.ts';
import { requestDifference, shownRequest } from '../../webhooks/replay/replay-schemas.ts';
import { caseResult } from '../auth/auth-suite.ts';
import { testReport } from '../config/config-test.ts';
import { healthReport } from '../control/health.ts';
import { answeredRequest } from '../mock/mock-auth.ts';
import { listeningLine } from '../mock/mock-server.ts';
import { receivedEvent } from '../mock/mock-webhook.ts';
import { replayedDelivery } from '../replay/replay-report.ts';

/** Schemas of what commands print with `--json`, by command. Members are added, never changed or taken away. */
export const jsonOutputs = {
  validate: validation.describe('svc validate --json: one document.'),
  explain: decision.describe('svc explain --json: one document.'),
  test: testReport.describe('svc test --json: one document.'),
  reload: reloadReport.describe('svc reload --json: one document.'),
  'auth-test': authTestReport.describe('svc auth-test --json: one document.'),
  'auth-test-suite': caseResult.describe('svc auth-test --suite FILE --json: one line for each case.'),
  'webhook-replay': replayedDelivery.describe('svc webhook-replay --json: one line for each delivery.'),
  'webhook-replay-dry-run': shownRequest.describe('svc webhook-replay --dry-run --json: one line for each request.'),
  'webhook-replay-diff': requestDifference.describe('svc webhook-replay --diff --json: one line for each request that differs.'),
  'mock-auth': z.union([listeningLine, answeredRequest]).describe('svc mock auth --json: the URL, then one line for each request.'),
  'mock-webhook': z.union([listeningLine, receivedEvent]).describe('svc mock webhook --json: the URL, then one line for each event.'),
  'events-deliveries': deliveryRecord.describe('svc events --deliveries --json: one line for each delivery.'),
  sessions: shownItems.sessions.describe('svc sessions list --json, svc sessions remove --json: one line for each session.'),
  locks: shownItems.locks.describe('svc locks list --json, svc locks remove --json: one line for each lock.'),
  bans: shownItems.bans.describe('svc bans list --json, svc bans remove --json: one line for each ban.'),
  health: healthReport.describe('svc health --json: one document.'),
} as const;
