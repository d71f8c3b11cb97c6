import * as z from 'zod';
import { casesSchema } from '../../config/cases/case-file.ts';
import { authTestReport, decision, reloadReport } from '../../config/report-shapes.ts';
import { configJsonSchema } from '../../config/schema/json-schema.ts';
import { validation } from '../../config/validation.ts';
import { shownItems } from '../../control/collection.ts';
import { shownGrants } from '../../control/shown-grants.ts';
import { verification } from '../../events/journal/verify.ts';
import { deliveryRecord, requestDifference, shownRequest } from '../../webhooks/records/delivery-record-schema.ts';
import { caseResult } from '../auth-suite.ts';
import { healthReport } from '../control/health.ts';
import { exitCode } from '../exit-codes.ts';
import { note } from '../import/draft.ts';
import { exported, receiptResult } from '../journal/evidence.ts';
import { expectationList, occurrenceList } from '../journal/expectations.ts';
import { replayedDelivery } from '../journal/replay-report.ts';
import { answeredRequest, listeningLine, receivedEvent } from '../mock-servers.ts';
import { print } from '../output.ts';
import { importedKey } from '../tools/host-keys.ts';
import { testReport } from './config-test.ts';

/** The `--json` output schema of each command. New versions add members, but never change or remove one. */
export const jsonOutputs = {
  validate: validation.describe('svc validate --json: one document.'),
  explain: decision.describe('svc explain --json: one document.'),
  test: testReport.describe('svc test --json: one document.'),
  import: note.describe('svc import --json: one line for each difference.'),
  'ssh-host-key-import': importedKey.describe('svc ssh host-key import --json: one line for each key.'),
  reload: reloadReport.describe('svc reload --json: one document.'),
  'auth-test': authTestReport.describe('svc auth-test --json: one document.'),
  'auth-test-suite': caseResult.describe('svc auth-test --suite FILE --json: one line for each case.'),
  'webhook-replay': replayedDelivery.describe('svc webhook-replay --json: one line for each delivery.'),
  'webhook-replay-dry-run': shownRequest.describe('svc webhook-replay --dry-run --json: one line for each request.'),
  'webhook-replay-diff': requestDifference.describe('svc webhook-replay --diff --json: one line for each request that differs.'),
  'mock-auth': z.union([listeningLine, answeredRequest]).describe('svc mock auth --json: the URL, then one line for each request.'),
  'mock-webhook': z.union([listeningLine, receivedEvent]).describe('svc mock webhook --json: the URL, then one line for each event.'),
  'events-deliveries': deliveryRecord.describe('svc events --deliveries --json: one line for each delivery.'),
  'journal-verify': verification.extend({ folder: z.string() }).describe('svc journal verify --json: one document.'),
  receipt: receiptResult.describe('svc receipt --json: one document.'),
  'journal-export': exported.describe('svc journal export --json: one document.'),
  'expectations-list': expectationList.describe('svc expectations list --json: one document.'),
  expectations: occurrenceList.describe('svc expectations check --json, svc expectations history --json: one document.'),
  sessions: shownItems.sessions.describe('svc sessions list --json, svc sessions remove --json: one line for each session.'),
  locks: shownItems.locks.describe('svc locks list --json, svc locks remove --json: one line for each lock.'),
  bans: shownItems.bans.describe('svc bans list --json, svc bans remove --json: one line for each ban.'),
  trash: shownItems.trash.describe('svc trash list --json, svc trash restore --json, svc trash empty --json: one line for each item.'),
  tokens: shownGrants
    .extend({ token: z.string().optional().describe('The secret; only create, narrow and rotate print it.') })
    .describe('svc tokens create|narrow|list|revoke|rotate --json: one line for each token.'),
  links: shownGrants
    .extend({ url: z.string().optional().describe('URL with the secret; only create prints it.') })
    .describe('svc links create|list|revoke --json: one line for each link.'),
  health: healthReport.describe('svc health --json: one document.'),
} as const;

/** Prints the JSON Schema of the configuration, of the cases of `svc test`, or of a command's `--json` output. */
export async function schema(what: string): Promise<number> {
  print(JSON.stringify(buildSchema(what), null, 2));
  return exitCode.done;
}

function buildSchema(what: string): Record<string, unknown> {
  if (what === 'config') return configJsonSchema();
  if (what === 'cases') return { title: 'svc test cases', ...z.toJSONSchema(casesSchema, { io: 'input', unrepresentable: 'any' }) };
  return { title: `svc ${what}`, ...z.toJSONSchema(jsonOutputs[what as keyof typeof jsonOutputs]) };
}
