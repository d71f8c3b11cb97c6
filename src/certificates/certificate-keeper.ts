import { hash, X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import type { EventDispatcher } from '../events/dispatcher.ts';
import type { EventComponent } from '../events/event.ts';
import { processAccount } from '../events/event-factory.ts';
import { eventIds } from '../events/event-ids.ts';
import { AccountKey } from '../lib/acme/account-key.ts';
import { AcmeClient, AcmeError, type ChallengePresenter } from '../lib/acme/acme-client.ts';
import { certificateRequest, keyText, newKey, selfSignedCertificate } from '../lib/acme/certificates.ts';
import type { Clock } from '../lib/clock.ts';
import { makeFolders, readTextIfThere, writeFileAtomically, writeFileNow } from '../lib/disk/durable-files.ts';
import { readCaCertificates } from '../lib/disk/named-file.ts';
import type { Log } from '../lib/log.ts';
import { certificateBlocks, checkTlsPairs } from '../lib/tls-files.ts';
import { type CertificateStore, challengeName } from './certificate-store.ts';
import type { AcmeOptions } from './options.ts';

/**
 * Interval, in milliseconds, of the checks of certificates. The first check comes one interval after the start. By then the process has
 * dropped its root rights, so that new files do not belong to root.
 */
const lookEveryMs = 2000;

/**
 * Only one process, the leader, orders certificates. During an order, it renews its claim to be the leader at this interval, in
 * milliseconds.
 */
const leadEveryMs = 5000;

/**
 * The pause after the first failed order, and the longest pause, in milliseconds. Authorities allow five failed checks of a domain per
 * hour.
 */
const firstWaitMs = 120_000;
const longestWaitMs = 6 * 3_600_000;

const challengeLivesMs = 900_000;
const dayMs = 86_400_000;

/** Lifetime, in milliseconds, of a certificate or account key in Redis, where other nodes find it. Each node also has it on disk. */
const sharedForMs = 90 * dayMs;

const placeholderDays = 30;

/** A service for which svc obtains the certificate. */
export interface KeptService {
  component: EventComponent;
  options: AcmeOptions;
}

interface Dependencies {
  /** Folder for the certificates and the account keys. */
  folder: string;
  store: CertificateStore;
  events: Pick<EventDispatcher, 'emit'>;
  clock: Clock;
  log: Log;
}

/** Returns the path of the file with a service's certificate and key. */
export function certificatePath(folder: string, uuid: string): string {
  return join(folder, `${encodeURIComponent(uuid)}.pem`);
}

/** Obtains and renews certificates. Services read them from files, and `TlsWatch` notices when a file changes. */
export class CertificateKeeper {
  readonly #dependencies: Dependencies;
  #running: { end: AbortController; ended: Promise<void> } | undefined;
  /** Services whose orders failed, with the number of successive failures and the earliest time of the next order. */
  readonly #failures = new Map<string, { count: number; notBeforeMs: number }>();

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * If a service has no usable certificate file, creates a self-signed certificate for it, so that the service can listen.
   *
   * @throws the errors of writing the file
   */
  prepare(services: readonly KeptService[]): void {
    const { folder, clock, log } = this.#dependencies;
    if (services.length > 0) makeFolders(folder, { mode: 0o700 });
    for (const { component, options } of services) {
      const path = certificatePath(folder, component.uuid);
      const kept = readTextIfThere(path);
      const fault = kept === undefined ? 'there is none yet' : certificateFault(kept, options.domains, clock.nowMs());
      if (fault === undefined) continue;
      log.warn('a service does not yet have a certificate that clients trust; svc is obtaining one', {
        service: component.uuid,
        reason: fault,
      });
      if (kept === undefined || !isServable(kept))
        writeFileNow(path, selfSignedCertificate(options.domains, { nowMs: clock.nowMs(), lastsDays: placeholderDays }), { mode: 0o600 });
    }
  }

  /** From now on, keeps the certificates of these services valid. The services must have been passed to `prepare`. */
  async apply(services: readonly KeptService[]): Promise<void> {
    await this.stop();
    this.#failures.clear();
    if (services.length === 0) return;
    const end = new AbortController();
    this.#running = { end, ended: this.#run(services, end.signal) };
  }

  /** Stops the checks, and aborts an order that is under way. */
  async stop(): Promise<void> {
    this.#running?.end.abort();
    await this.#running?.ended;
    this.#running = undefined;
  }

  async #run(services: readonly KeptService[], signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#dependencies;
    while (!signal.aborted) {
      await clock.sleep(lookEveryMs, signal).catch(() => {});
      const looks = services.map(async (service) => {
        if (signal.aborted) return;
        await this.#look(service, signal).catch((reason) => {
          if (!signal.aborted) log.error('a certificate cannot be renewed at present', { service: service.component.uuid, reason });
        });
      });
      await Promise.all(looks);
    }
  }

  async #look(service: KeptService, signal: AbortSignal): Promise<void> {
    const { folder, store, clock } = this.#dependencies;
    const { component, options } = service;
    const nowMs = clock.nowMs();
    const path = certificatePath(folder, component.uuid);
    const fitting = (pem: string | undefined) =>
      pem === undefined || certificateFault(pem, options.domains, nowMs) !== undefined ? undefined : pem;
    const [own, shared] = [fitting(readTextIfThere(path)), fitting(await store.get(sharedName(component.uuid)))];
    if (shared !== undefined && (own === undefined || isNewer(shared, own))) return writeFileAtomically(path, shared, { mode: 0o600 });
    if (!(await store.isLeader())) return;
    if (own !== undefined && own !== shared) await store.put(sharedName(component.uuid), own, sharedForMs);
    const dueMs = Math.max(own === undefined ? 0 : renewalMs(own), this.#failures.get(component.uuid)?.notBeforeMs ?? 0);
    if (nowMs >= dueMs) await this.#renew(service, own, signal);
  }

  /** Orders a certificate. The ACME directories of the service are asked in turn until one succeeds. */
  async #renew(service: KeptService, own: string | undefined, signal: AbortSignal): Promise<void> {
    const { folder, store, clock, log } = this.#dependencies;
    const { uuid, name, type } = service.component;
    const { directory: directories, domains } = service.options;
    const leading = clock.every(leadEveryMs, () => void store.isLeader().catch(() => {}));
    const faults: string[] = [];
    let retryAfterMs = 0;
    try {
      for (const directory of directories) {
        try {
          const pem = await this.#order(service.options, directory, signal);
          await writeFileAtomically(certificatePath(folder, uuid), pem, { mode: 0o600 });
          await store.put(sharedName(uuid), pem, sharedForMs);
          this.#failures.delete(uuid);
          const expires = new Date(new X509Certificate(pem).validTo).toISOString();
          log.info('a certificate was obtained', { service: uuid, directory, expires });
          this.#emit(service, eventIds.certificateObtained, { name, type, uuid, domains, directory, expires });
          return;
        } catch (error) {
          if (signal.aborted) throw error;
          if (error instanceof AcmeError) retryAfterMs = Math.max(retryAfterMs, error.retryAfterMs);
          faults.push(`${directory}: ${(error as Error).message}`);
        }
      }
    } finally {
      leading.cancel();
    }
    const count = (this.#failures.get(uuid)?.count ?? 0) + 1;
    const waitMs = Math.min(firstWaitMs * 2 ** (count - 1), longestWaitMs) * (1 - Math.random() / 2);
    const nextMs = clock.nowMs() + Math.max(waitMs, retryAfterMs);
    this.#failures.set(uuid, { count, notBeforeMs: nextMs });
    const daysLeft = own === undefined ? 0 : Math.floor((Date.parse(new X509Certificate(own).validTo) - clock.nowMs()) / dayMs);
    const told = { details: faults.join('; '), failures: count, days_left: daysLeft, next_try: new Date(nextMs).toISOString() };
    log.error('no certificate could be obtained', { service: uuid, ...told });
    this.#emit(service, eventIds.certificateFailed, { name, type, uuid, domains, ...told });
  }

  /** Orders a certificate from one ACME directory. @returns the certificate chain and the key, after a check that they can be used */
  async #order(options: AcmeOptions, directory: string, signal: AbortSignal): Promise<string> {
    const { store, clock } = this.#dependencies;
    const { email, domains, challenge, external_account: external } = options;
    const account = {
      directory,
      key: new AccountKey(await this.#accountKey(directory)),
      email,
      external: external && { keyId: external.key_id, hmacKey: external.hmac_secret },
      caPem: readCaCertificates(options.ca_certificates_path, 'tls.acme.ca_certificates_path'),
    };
    const presenter: ChallengePresenter = {
      show: (shown) => store.put(challengeName(shown), shown.keyAuthorization, challengeLivesMs),
      withdraw: (shown) => store.remove(challengeName(shown)),
    };
    const key = newKey();
    const chain = await new AcmeClient(account, clock, signal).order(domains, certificateRequest(domains, key), challenge, presenter);
    const pem = joinCertificate(chain, keyText(key));
    const fault = certificateFault(pem, domains, clock.nowMs());
    if (fault !== undefined) throw new AcmeError(`the authority gave a certificate that cannot be used: ${fault}`);
    return pem;
  }

  /** Returns the account key for an ACME directory. All nodes use the same key. The key is on disk before the authority sees it. */
  async #accountKey(directory: string): Promise<string> {
    const { folder, store } = this.#dependencies;
    const name = `account-${hash('sha256', directory, 'hex').slice(0, 16)}`;
    const path = join(folder, `${name}.pem`);
    const own = readTextIfThere(path);
    const key = (await store.get(name)) ?? own ?? keyText(newKey());
    if (key !== own) await writeFileAtomically(path, key, { mode: 0o600 });
    await store.put(name, key, sharedForMs);
    return key;
  }

  #emit({ component }: KeptService, id: number, data: Record<string, unknown>): void {
    this.#dependencies.events.emit({ id, context: { account: processAccount(), component }, data });
  }
}

function sharedName(uuid: string): string {
  return `certificate ${uuid}`;
}

/**
 * A certificate is renewed at the latest after the fraction `renewAfter` of its lifetime. To spread renewals, each certificate is renewed
 * earlier than that, by up to the fraction `jitter` of its lifetime.
 */
const renewAfter = 2 / 3;
const jitter = 1 / 20;

/** Maximum number of certificates in a chain. No authority needs more. */
const maxChain = 10;

/** Problems that make clients refuse a certificate, although TLS itself would work. */
const refusedByClients = new Set(['tls-expired', 'tls-chain', 'tls-weak']);

/**
 * Joins an authority's chain and the key into one text for a file.
 *
 * @param chain PEM text; anything in it that is not a certificate is ignored
 * @param key private key as PEM
 */
function joinCertificate(chain: string, key: string): string {
  return `${certificateBlocks(chain).slice(0, maxChain).join('\n')}\n${key}`;
}

/**
 * Returns the reason why a certificate and its key cannot be used for the given domains; undefined if they can be used.
 *
 * @param pem chain and key as one text
 * @param nowMs Unix time in milliseconds
 */
export function certificateFault(pem: string, domains: readonly string[], nowMs: number): string | undefined {
  const fault = checkTlsPairs(pem, pem, nowMs).find(({ severity, code }) => severity === 'error' || refusedByClients.has(code));
  if (fault) return fault.message;
  const leaf = new X509Certificate(pem);
  if (leaf.checkIssued(leaf)) return 'it is self-signed';
  const missing = domains.find((domain) => leaf.checkHost(domain, { subject: 'never', wildcards: false }) === undefined);
  return missing === undefined ? undefined : `it is not for ${missing}`;
}

/** Returns whether TLS works with a certificate and its key, even if clients refuse the certificate. */
function isServable(pem: string): boolean {
  return checkTlsPairs(pem, pem, 0).every(({ severity }) => severity !== 'error');
}

/** Returns when a certificate must be renewed. All nodes compute the same time for a certificate. @returns Unix time in milliseconds */
export function renewalMs(pem: string): number {
  const leaf = new X509Certificate(pem);
  const [fromMs, toMs] = [Date.parse(leaf.validFrom), Date.parse(leaf.validTo)];
  const share = Number.parseInt(hash('sha256', leaf.raw, 'hex').slice(0, 8), 16) / 2 ** 32;
  return fromMs + (toMs - fromMs) * (renewAfter - jitter * share);
}

function isNewer(pem: string, other: string): boolean {
  const fromMs = (text: string) => Date.parse(new X509Certificate(text).validFrom);
  return fromMs(pem) > fromMs(other);
}
