import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { effectiveAccount } from '../../accounts/account.ts';
import { withDefaultGroup } from '../../accounts/options.ts';
import { loadConfig } from '../../config/check.ts';
import { Inspections } from '../../files/inspections/inspections.ts';
import type { InspectedContent, Judgement } from '../../files/inspections/verdict.ts';
import { systemClock } from '../../lib/clock.ts';
import { readChunks } from '../../lib/disk/descriptors.ts';
import { ServiceError } from '../../lib/errors.ts';
import { createLog } from '../../lib/log.ts';
import { mediaTypeByName } from '../../lib/media-types.ts';
import { MemoryUrlHealth } from '../../lib/remote/url-health.ts';
import { baseName, parseVirtualPath } from '../../lib/virtual-path.ts';
import { exitCode } from '../exit-codes.ts';
import { print, visible } from '../output.ts';

/** Options of `svc inspect`. */
export interface InspectOptions {
  config?: string;
  account: string;
  path: string;
  json?: boolean;
}

const outcomes = {
  accepted: exitCode.done,
  refused: exitCode.cannotRun,
  held: exitCode.held,
  failure: exitCode.rejected,
} as const;
type Outcome = keyof typeof outcomes;

/**
 * Asks the inspections of a configuration about a local file, as if it were uploaded.
 *
 * @returns 0 accepted, 3 refused, 4 held, 11 failure
 */
export async function inspectFile(file: string, options: InspectOptions): Promise<number> {
  const { config } = await loadConfig({ file: options.config, cwd: process.cwd(), env: process.env });
  const path = parseVirtualPath(options.path);
  const configuration = config.accounts[options.account];
  if (!configuration) throw new ServiceError('bad-request', `The configuration has no account "${options.account}".`);
  const groups = withDefaultGroup(config.groups);
  const account = effectiveAccount(options.account, configuration, groups, { uuid: 'svc-inspect', type: 'application' });
  const log = createLog({ level: 'error', format: 'json', clock: systemClock, write() {} });
  const urlHealth = () => new MemoryUrlHealth(systemClock);
  const inspections = new Inspections({ events: { emit() {} }, clock: systemClock, log, urlHealth });
  const untested = Object.entries(config.inspections).map(([uuid, one]) => [uuid, { ...one, test_at_start: false }] as const);
  inspections.prepare({ inspections: Object.fromEntries(untested), held: config.server.held })();
  const uuids = account.inspections.at(path);
  const fd = openFile(file);
  try {
    const { name, uuid, groupUuid } = account;
    const content = fileContent(fd, file, path, { username: name, uuid, group: groupUuid });
    const judgement = await inspections.judge(uuids, content, uuid, false);
    return report({ path, account: name, inspections: [...uuids] }, judgement ?? { outcome: 'accept', verdicts: [] }, options);
  } finally {
    inspections.stop();
    closeSync(fd);
  }
}

function openFile(file: string): number {
  try {
    return openSync(file, constants.O_RDONLY);
  } catch (error) {
    throw new ServiceError('bad-request', `${file} cannot be read: ${(error as Error).message}.`, { cause: error });
  }
}

function fileContent(fd: number, file: string, path: string, account: InspectedContent['facts']['account']): InspectedContent {
  const { size, mtimeMs } = fstatSync(fd);
  const name = baseName(parseVirtualPath(path));
  const chunks = () => readChunks(fd, size);
  return {
    sizeBytes: size,
    mediaType: mediaTypeByName(name),
    realPath: () => file,
    chunks,
    async sha256() {
      const hash = createHash('sha256');
      for await (const chunk of chunks()) hash.update(chunk);
      return hash.digest();
    },
    facts: {
      file: { path, name, modified: mtimeMs / 1000, metadata: {}, replaces: false },
      account,
      client: { address: '127.0.0.1' },
      creator: { uuid: 'svc-inspect', type: 'https' },
      server: { uuid: 'svc-inspect', name: 'svc inspect' },
    },
  };
}

function report(about: { path: string; account: string; inspections: string[] }, judgement: Judgement, { json }: InspectOptions): number {
  const outcome = describeOutcome(judgement);
  const verdicts = judgement.verdicts.map(({ inspection, verdict, message = '', timeMs }) => ({
    inspection,
    verdict,
    message,
    time: new Date(timeMs).toISOString(),
  }));
  if (json) print(JSON.stringify({ outcome, ...about, verdicts }));
  else {
    const told = verdicts.map(({ inspection, verdict, message }) =>
      [`${visible(inspection)}: ${verdict}`, visible(message)].filter(Boolean).join(': '),
    );
    print([outcome, ...(told.length > 0 ? told : ['nothing inspects this path'])].join('\n'));
  }
  return outcomes[outcome];
}

function describeOutcome(judgement: Judgement): Outcome {
  if (judgement.outcome === 'accept') return 'accepted';
  if (judgement.outcome === 'refuse') return judgement.by.verdict === 'failure' ? 'failure' : 'refused';
  return judgement.reason === 'failure' ? 'failure' : 'held';
}
