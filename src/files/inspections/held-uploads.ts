import { randomUUID } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { EventServer } from '../../events/event.ts';
import { eventIds } from '../../events/event-ids.ts';
import type { Timer } from '../../lib/clock.ts';
import { forEachConcurrently } from '../../lib/concurrency/event-loop.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { baseName, isWithin, parentPath, type VirtualPath } from '../../lib/virtual-path.ts';
import type { AccountPaths } from '../account-paths.ts';
import { keptName } from '../disk/temporaries.ts';
import type { FilesEnvironment } from '../files-environment.ts';
import { endUpload, resumedData, whileHeld } from '../uploads/end-upload.ts';
import { isEnding, isUploadId, type UploadHold, type UploadRecord, type UploadStore, uploadTarget } from '../uploads/upload-store.ts';
import { inspectedContent, neededInspections, stateAt, tellVerdicts } from './gate.ts';
import { accountSnapshot, asHeld, type HeldEnd, type HeldFacts, heldError, noSuchUpload } from './held-facts.ts';
import type { Decider, HeldContent, HeldUpload, Holding, NewHold, Place } from './holding.ts';
import type { Inspections } from './inspections.ts';
import { dropIfEnded, followFolder, heldContent, heldPaths, putBack, type ReleasedBy, releaseUpload, toldName } from './release.ts';
import type { Judged, Judgement } from './verdict.ts';

/** If no other process uses the store, held uploads whose inspection is not running are looked for at this interval. */
const resumeEveryMs = 10_000;

/** Maximum number of held uploads that are processed at the same time, for example to inspect them again. Each may need an open file. */
const resumedAtOnce = 16;

/** Duration of the lease of a process that inspects a held upload. The process renews the lease in time, until the inspection has ended. */
const leaseMs = 60_000;

/** If the content of a new record does not appear within this time, the content is treated as lost. */
const contentWithinMs = 60_000;

/** Facts about the end of a held upload. */
interface HeldEnding {
  how: HeldEnd;
  by?: Decider;
  details: string;
  inspection?: string;
  /** The current path of the content, if its folder was moved. */
  contentPath?: string;
}

interface HeldDependencies {
  store: UploadStore;
  inspections: Inspections;
  environment: () => FilesEnvironment;
  server: EventServer;
  /** Whether no other process uses the same store. */
  isAlone: boolean;
}

/** Manages the uploads that inspections hold. */
export class HeldUploads implements Holding {
  readonly store: UploadStore;
  readonly inspections: Inspections;
  readonly server: EventServer;
  readonly #environment: () => FilesEnvironment;
  readonly #isAlone: boolean;
  readonly #process = randomUUID();
  /** The running inspections of this process, by the ID of the held upload. */
  readonly #running = new Map<string, Promise<void>>();
  readonly #timers: Timer[] = [];
  #isStopped = false;

  constructor({ store, inspections, environment, server, isAlone }: HeldDependencies) {
    this.store = store;
    this.inspections = inspections;
    this.server = server;
    this.#environment = environment;
    this.#isAlone = isAlone;
  }

  start(): void {
    const { clock } = this.#environment();
    const resume = () => void this.resume().catch((reason) => this.#warn('held uploads could not be checked', reason));
    resume();
    this.#timers.push(clock.every(this.#isAlone ? resumeEveryMs : leaseMs, resume));
    if (!this.#isAlone) this.#timers.push(clock.every(leaseMs / 3, () => void this.#renew()));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const timer of this.#timers) timer.cancel();
    this.inspections.stop();
    await Promise.all(this.#running.values());
  }

  async hold({ paths, path, content, inspected, judgement, uuids, options, kept = keptName() }: NewHold): Promise<ServiceError> {
    const { request: _, ...origin } = paths.context;
    const folder = content.folder();
    const contentPath = `${folder}/${kept}`;
    const sinceMs = this.#environment().clock.nowMs();
    const { reason, verdicts, rest } = judgement;
    const held: HeldFacts = {
      state: rest ? 'inspecting' : 'held',
      reason,
      sinceMs,
      digest: (await inspected.sha256()).toString('base64'),
      inspections: [...uuids],
      verdicts,
      account: accountSnapshot(paths.account),
      expected: options.isConditional ? stateAt(`${folder}/${content.name}`) : undefined,
      movedFrom: options.movedFrom,
      toldAs: options.toldAs,
      inspector: rest && { process: this.#process, untilMs: sinceMs + leaseMs },
    };
    const { metadata, backendUuid, movedFrom } = options;
    const order = { accountUuid: paths.account.uuid, path, contentPath, origin, metadata, backendUuid, notes: {}, held };
    const record = await this.store.add(order, content.sizeBytes);
    const { id } = record;
    try {
      const keeping = content.keep(kept);
      inspected.moveTo(contentPath);
      await keeping;
    } catch (error) {
      await whileHeld(this.store, id, (hold) => hold.remove());
      throw error;
    }
    try {
      // If the folder was moved before the store had the record, the move could not update the record. So the record is updated here.
      const now = () => ({ path: parentPath(path), realPath: content.folder() });
      const follows = { realPath: folder, from: parentPath(path), now };
      if (now().realPath !== folder) await whileHeld(this.store, id, (hold, added) => followFolder(hold, added, follows));
      // A newer upload with the same name may have ended this upload before the content got its hidden name.
      if (await dropIfEnded(this.store, record)) this.#usageOf(record as HeldUpload).removed();
    } catch (reason) {
      this.#warn('it is unknown whether an upload is still held', reason);
    }
    if (rest) this.#running.set(id, Promise.resolve());
    await this.supersede(`${folder}/${content.name}`, id);
    const told = verdicts.map(({ inspection, verdict, message }) => ({ inspection, verdict, message }));
    const data = { held_id: id, reason, verdicts: told, total_write: content.sizeBytes, moved_from: movedFrom };
    const outcome = await paths.emitDurable(eventIds.uploadHeld, path, data).then(
      () => heldError(id, path, this.inspections.held.answer === 'refuse'),
      (error) => asHeld(error, id, path),
    );
    if (rest) void this.#follow(id, rest, { uuids, name: options.toldAs ?? baseName(path) });
    return outcome;
  }

  async at(target: string, accountUuid: string): Promise<HeldUpload | undefined> {
    const own = (await this.store.named(target)).filter(isHeldUpload).filter((record) => record.accountUuid === accountUuid);
    return own.at(-1);
  }

  async rename(id: string, paths: NewHold['paths'], path: VirtualPath, isFree: boolean): Promise<ServiceError> {
    let isJudgedAnew = false;
    await this.#whileIts(id, async (hold, record) => {
      const { held, path: moved_from, offsetBytes: total_write } = record;
      const target = `${dirname(record.contentPath)}/${baseName(path)}`;
      const uuids = neededInspections(this.#pathsOf(record), path, target);
      isJudgedAnew = toldName(record) !== baseName(path) || [...uuids].some((uuid) => !held.inspections.includes(uuid));
      const anew = isJudgedAnew ? { state: 'inspecting' as const, inspector: this.#lease() } : {};
      await hold.change({ path, held: { ...held, ...anew, toldAs: undefined, expected: isFree ? '' : undefined } });
      await this.supersede(target, id);
      await paths.emitDurable(eventIds.uploadHeld, path, { held_id: id, reason: held.reason, total_write, moved_from });
    });
    // If an inspection is already running, `#apply` notices the new name when the inspection has ended, and inspects again.
    if (isJudgedAnew && !this.#running.has(id)) void this.#inspect(await this.find(id));
    return heldError(id, path);
  }

  async supersede(target: string, exceptId: string | undefined): Promise<void> {
    try {
      for (const { id } of await this.store.named(target))
        if (id !== exceptId) await this.#end(id, 'superseded', undefined, 'A newer upload with this name arrived.');
    } catch (reason) {
      this.#warn('an older held upload with the name of a newer one could not be ended', reason);
    }
  }

  async list(accountUuid?: string): Promise<HeldUpload[]> {
    const records = await this.store.within('/');
    return records.filter(isHeldUpload).filter((record) => accountUuid === undefined || record.accountUuid === accountUuid);
  }

  async find(id: string, accountUuid?: string): Promise<HeldUpload> {
    const record = isUploadId(id) ? await this.store.find(id) : undefined;
    const isShown = record && isHeldUpload(record) && (accountUuid === undefined || record.accountUuid === accountUuid);
    if (!isShown) throw noSuchUpload();
    return record;
  }

  async content(id: string): Promise<HeldContent> {
    return heldContent(await this.find(id));
  }

  async release(id: string, by: { administrator: string }): Promise<void> {
    await this.find(id);
    const hold = await this.store.hold(id, () => {});
    await this.#release(hold, by);
  }

  async discard(id: string, by: Decider, reason = 'It was discarded after a review.'): Promise<void> {
    await this.#whileIts(id, (hold, record) => this.#endHeld(hold, record, { how: 'discarded', by, details: reason }));
  }

  async withdraw(id: string, account: { uuid: string }): Promise<void> {
    const record = await this.find(id, account.uuid);
    const { movedFrom } = record.held;
    await this.#whileIts(id, async (hold, current) => {
      if (movedFrom === undefined) return this.#endHeld(hold, current, { how: 'withdrawn', details: 'The account withdrew it.' });
      const path = await putBack(this.#pathsOf(current), current, movedFrom);
      await this.#endHeld(hold, current, { how: 'withdrawn', details: `The account withdrew it; the file was moved back to ${path}.` });
    });
  }

  async inspectAgain(id: string): Promise<void> {
    const { held } = await this.find(id);
    if (held.state === 'inspecting' && this.#running.has(id)) return;
    await this.#whileIts(id, (hold, record) => hold.change({ held: { ...record.held, state: 'inspecting', inspector: this.#lease() } }));
    void this.#inspect(await this.find(id));
  }

  async follow(realPath: string, from: VirtualPath, now: () => Place): Promise<void> {
    await forEachConcurrently(await this.store.within(realPath), resumedAtOnce, ({ id }) =>
      whileHeld(this.store, id, (hold, record) => followFolder(hold, record, { realPath, from, now })),
    );
  }

  async loseFolder(realPath: string, contentIn: () => string | undefined): Promise<void> {
    await forEachConcurrently(await this.store.within(realPath), resumedAtOnce, ({ id }) =>
      whileHeld(this.store, id, async (hold, record) => {
        const { contentPath } = record;
        if (!isWithin(contentPath, realPath)) return;
        const now = (contentIn() ?? realPath) + contentPath.slice(realPath.length);
        const details = 'The folder of the file was removed.';
        if (isHeldUpload(record)) await this.#endHeld(hold, record, { how: 'discarded', details, contentPath: now });
      }),
    );
  }

  /** Runs an action on a held upload. @throws ServiceError `not-found` if there is none, or if it has ended meanwhile */
  async #whileIts(id: string, action: (hold: UploadHold, record: HeldUpload) => Promise<unknown>): Promise<void> {
    await this.find(id);
    const hold = await this.store.hold(id, () => {});
    try {
      if (!hold.record || !isHeldUpload(hold.record)) throw noSuchUpload();
      await action(hold, hold.record);
    } finally {
      hold.release();
    }
  }

  /** Inspects held uploads again if the process that inspected them has stopped. Ends held uploads whose content is lost. */
  async resume(): Promise<void> {
    const nowMs = this.#environment().clock.nowMs();
    const lost = (await this.list()).filter(({ id, held }) => {
      if (held.state !== 'inspecting' || this.#running.has(id)) return false;
      return this.#isAlone || (held.inspector?.untilMs ?? 0) <= nowMs;
    });
    await forEachConcurrently(lost, resumedAtOnce, async ({ id }) => {
      if (this.#isStopped) return;
      await whileHeld(this.store, id, async (hold, record) => {
        if (isHeldUpload(record) && !isEnding(record)) await hold.change({ held: { ...record.held, inspector: this.#lease() } });
      });
      await this.#inspect(await this.find(id));
    });
  }

  #inspect(record: HeldUpload): Promise<void> {
    const { id, path, contentPath, held, offsetBytes, metadata } = record;
    const paths = this.#pathsOf(record);
    const found = lstatSync(contentPath, { throwIfNoEntry: false });
    const { clock } = this.#environment();
    if (!found?.isFile()) {
      if (clock.nowMs() - held.sinceMs < contentWithinMs) return Promise.resolve();
      return this.#end(id, 'discarded', undefined, 'The content of the upload is gone.');
    }
    const folder = dirname(contentPath);
    const uuids = new Set([...held.inspections, ...neededInspections(paths, path, uploadTarget(record))]);
    const content = {
      folder: () => folder,
      hiddenName: basename(contentPath),
      sizeBytes: offsetBytes,
      modifiedMs: found.mtimeMs,
      current: () => paths.entryAt(path),
    };
    const inspected = inspectedContent(paths, path, content, { metadata, toldAs: held.toldAs });
    const judged = this.inspections.judge([...uuids], inspected, paths.account.uuid, false);
    return this.#follow(id, judged, { uuids, name: toldName(record) });
  }

  /** Waits for a judgement and applies it. */
  #follow(id: string, judged: Promise<Judgement | undefined>, by: Judged): Promise<void> {
    const applied = judged
      .then((judgement) => judgement && this.#apply(id, judgement, by))
      .catch((reason) => this.#warn('a held upload could not be judged; this is tried again', reason))
      .finally(() => this.#running.delete(id));
    this.#running.set(id, applied);
    return applied;
  }

  async #apply(id: string, judgement: Judgement, { uuids, name }: Judged): Promise<void> {
    const hold = await this.store.hold(id, () => {});
    const { record } = hold;
    const { outcome, verdicts } = judgement;
    if (!record || !isHeldUpload(record) || record.held.state !== 'inspecting') return hold.release();
    if (name !== toldName(record)) {
      hold.release();
      return this.#inspect(record);
    }
    const paths = this.#pathsOf(record);
    await tellVerdicts(paths, record.path, judgement).catch((error) => {
      hold.release();
      throw error;
    });
    if (outcome === 'accept') {
      // The folder of the upload may have been moved to a path with more inspections.
      if ([...neededInspections(paths, record.path, uploadTarget(record))].some((uuid) => !uuids.has(uuid))) {
        hold.release();
        return this.#inspect(record);
      }
      try {
        return await this.#release(hold, { passed: uuids });
      } catch (error) {
        // The release failed, for example because of a full quota. The upload stays held until an administrator decides.
        const details = { inspection: '', verdict: 'failure', effect: 'hold', message: (error as Error).message } as const;
        return this.#settle(id, 'failure', [...verdicts, { ...details, timeMs: this.#environment().clock.nowMs() }]);
      }
    }
    try {
      if (outcome === 'refuse')
        await this.#endHeld(hold, record, {
          how: 'refused',
          details: 'An inspection refused the file.',
          inspection: judgement.by.inspection,
        });
      else await hold.change({ held: { ...record.held, state: 'held', reason: judgement.reason, verdicts, inspector: undefined } });
    } finally {
      hold.release();
    }
  }

  async #settle(id: string, reason: HeldFacts['reason'], verdicts: HeldFacts['verdicts']): Promise<void> {
    await whileHeld(this.store, id, async (hold, record) => {
      if (isHeldUpload(record)) await hold.change({ held: { ...record.held, state: 'held', reason, verdicts, inspector: undefined } });
    });
  }

  /** Gives the file of a held upload its final name. Releases `hold`. */
  async #release(hold: UploadHold, by: ReleasedBy): Promise<void> {
    const { record } = hold;
    if (!record || !isHeldUpload(record)) {
      hold.release();
      throw noSuchUpload();
    }
    const paths = this.#pathsOf(record);
    await releaseUpload(paths, hold, record, by);
    await this.supersede(uploadTarget(record), record.id);
  }

  async #end(id: string, how: HeldEnd, by: Decider, details: string): Promise<void> {
    await whileHeld(this.store, id, async (hold, record) => {
      if (isHeldUpload(record)) await this.#endHeld(hold, record, { how, by, details });
    });
  }

  async #endHeld(hold: UploadHold, record: HeldUpload, { how, by, details, inspection, contentPath }: HeldEnding): Promise<void> {
    const environment = this.#environment();
    const data = { ...resumedData(record), administrator: by?.administrator, inspection };
    const reason = new ServiceError(how === 'refused' ? 'unprocessable' : 'not-found', details);
    await endUpload(environment, hold, reason, { how, isTold: false, data, ...(contentPath !== undefined && { contentPath }) });
    this.#usageOf(record).removed();
  }

  #usageOf(record: HeldUpload) {
    return this.#environment().quotas.usage(this.#pathsOf(record).mounts.accountRoots);
  }

  #pathsOf(record: HeldUpload): AccountPaths {
    return heldPaths(this.#environment(), record);
  }

  #lease(): HeldFacts['inspector'] {
    return { process: this.#process, untilMs: this.#environment().clock.nowMs() + leaseMs };
  }

  async #renew(): Promise<void> {
    for (const id of this.#running.keys())
      await whileHeld(this.store, id, async (hold, record) => {
        if (isHeldUpload(record) && record.held.state === 'inspecting')
          await hold.change({ held: { ...record.held, inspector: this.#lease() } });
      }).catch((reason) => this.#warn('the lease of a held upload could not be renewed', reason));
  }

  #warn(message: string, reason: unknown): void {
    if (!isServiceError(reason, 'not-found')) this.#environment().log.warn(message, { reason });
  }
}

function isHeldUpload(record: UploadRecord): record is HeldUpload {
  return record.held !== undefined && record.outcome === undefined && record.ending === undefined;
}
