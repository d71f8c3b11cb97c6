import { constants, X509Certificate } from 'node:crypto';
import { statSync } from 'node:fs';
import { createServer, DEFAULT_CIPHERS, type SecureVersion, type Server } from 'node:tls';
import type { EventDispatcher } from '../../events/dispatcher.ts';
import type { EventComponent } from '../../events/event.ts';
import { processAccount } from '../../events/event-factory.ts';
import { eventIds } from '../../events/event-ids.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import { readNamedFile } from '../../lib/disk/named-file.ts';
import { ServiceError, systemErrorCode } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { checkAuthorities, checkTlsPairs, type TlsFault, tlsPairs } from '../../lib/tls-files.ts';
import type { HttpServiceOptions } from '../options.ts';
import type { HttpService } from '../request/exchange.ts';

/** Interval of the checks. A change takes effect at the next check, if the files stay as they are. */
const checkEveryMs = 2500;

type TlsFiles = Pick<HttpServiceOptions, 'tls_certificate_path' | 'tls_key_path' | 'tls_client_ca_path'>;

/** A service whose files are watched. */
interface Watched {
  options: TlsFiles;
  component: EventComponent;
  events: Pick<EventDispatcher, 'emit'>;
  clock: Clock;
  log: Log;
}

/** Polls certificate, key and client CA of a service, so that renewing them on disk is enough: notifications miss replaced files and links. */
export class TlsWatch {
  readonly #service: () => Watched;
  readonly #renew: () => void;
  readonly #timer: Timer;
  /** Stamps of the files in use, at the last check, and of those last reported as refused. */
  #used: string | undefined;
  #seen: string | undefined;
  #refused: string | undefined;

  /**
   * @param service the present service
   * @param renew uses all files, or throws if they cannot be used. The old files then stay in use, which is reported once
   *   (`tlsFilesRefused`)
   */
  constructor(service: () => Watched, renew: () => void) {
    this.#service = service;
    this.#renew = renew;
    this.#used = this.#seen = readStamps(service().options);
    this.#timer = service().clock.every(checkEveryMs, () => this.check(false));
  }

  /** Checks now. @param isWhole whether the files are known to be complete */
  check(isWhole: boolean): void {
    const { options, component, events, log } = this.#service();
    const now = readStamps(options);
    const isSettled = isWhole || now === this.#seen;
    this.#seen = now;
    if (now === this.#used) this.#refused = undefined;
    if (now === undefined || now === this.#used || !isSettled) return;
    try {
      this.#renew();
      this.#used = now;
      log.info('the TLS files changed and are in use', { service: component.uuid });
    } catch (error) {
      if (now === this.#refused) return;
      this.#refused = now;
      const { uuid, type, name } = component;
      log.error('the TLS files changed and cannot be used; those before stay in use', { service: uuid, reason: error });
      const data = { name, type, uuid, details: (error as Error).message };
      events.emit({ id: eventIds.tlsFilesRefused, context: { account: processAccount(), component }, data });
    }
  }

  cancel(): void {
    this.#timer.cancel();
  }
}

/** @returns undefined if they cannot be reached: without the privileges of the start, or by circular links */
function readStamps(files: TlsFiles): string | undefined {
  try {
    return [files.tls_certificate_path, files.tls_key_path, files.tls_client_ca_path].map(fileStamp).join(' ');
  } catch (error) {
    if (systemErrorCode(error) !== undefined) return undefined;
    throw error;
  }
}

function fileStamp(path: string): string {
  const stats = path === '' ? undefined : statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats ? `${path}:${stats.ino}:${stats.size}:${stats.mtimeNs}` : path;
}

/** Ten rounds per block; AES-256, which Node.js prefers, takes fourteen. */
const firstCipher = 'TLS_AES_128_GCM_SHA256';

const ciphers = DEFAULT_CIPHERS.split(':').sort((a, b) => Number(b === firstCipher) - Number(a === firstCipher));

/** Does the handshakes of an https service, of connections that it is given by `emit('connection', socket)`; `alpnProtocol` is the agreed protocol. */
export function createTlsServer({ uuid, tickets }: HttpService, context: TlsContext): Server {
  return createServer({
    ...context,
    ...tickets.of(uuid, context.ca),
    ciphers: ciphers.join(':'),
    // Preferred by clients without AES in hardware.
    secureOptions: constants.SSL_OP_PRIORITIZE_CHACHA,
    ALPNProtocols: ['h2', 'http/1.1'],
    // A certificate that does not verify authenticates nobody (client-certificate.ts), but other credentials may.
    ...(context.ca ? { requestCert: true, rejectUnauthorized: false } : {}),
  });
}

/** Options of a TLS server; read again at each reload, so that a renewed certificate takes effect. */
export interface TlsContext {
  /** Chains and keys as PEM: the first of one belongs to the first of the other. */
  cert: string[];
  key: string[];
  /** Authorities of clients as PEM. */
  ca?: Buffer;
  minVersion: SecureVersion;
}

export type TlsOptions = Pick<HttpServiceOptions, 'tls_certificate_path' | 'tls_key_path' | 'tls_client_ca_path' | 'tls_minimum_version'>;

type TlsFile = 'tls_certificate_path' | 'tls_key_path' | 'tls_client_ca_path';

/** Problems that make clients refuse the certificate: files that have them do not replace files that have none. */
const hindering: ReadonlySet<TlsFault['code']> = new Set(['tls-expired', 'tls-chain']);

const optionOf = { certificate: 'tls_certificate_path', key: 'tls_key_path', authorities: 'tls_client_ca_path' } as const;

/**
 * Reads certificates, keys and client CA of an https service; with several keys OpenSSL uses one that the client supports.
 *
 * @param nowMs Unix time in milliseconds
 * @param inUse the files in use: new files with a problem that these do not have are refused, too
 * @throws ServiceError `unavailable` naming the option whose file cannot be read or used, and why
 */
export function readTlsContext(options: TlsOptions, nowMs: number, inUse?: TlsContext): TlsContext {
  const readNamed = (option: TlsFile) => readSet(option, options[option], inUse === undefined);
  const certificates = readNamed('tls_certificate_path').toString('latin1');
  const pairs = tlsPairs(certificates, readNamed('tls_key_path').toString('latin1'));
  const context: TlsContext = {
    cert: pairs.map(({ certificate }) => certificate),
    key: pairs.map(({ key }) => key),
    minVersion: options.tls_minimum_version,
    ...(options.tls_client_ca_path ? { ca: readNamed('tls_client_ca_path') } : {}),
  };
  const before = inUse && faultsOf(inUse, nowMs);
  const isNew = ({ code, file }: TlsFault) => !before?.some((fault) => fault.code === code && fault.file === file);
  const hinders = (fault: TlsFault) => fault.severity === 'error' || (before && hindering.has(fault.code) && isNew(fault));
  const fault = faultsOf(context, nowMs).find(hinders);
  if (fault) throw new ServiceError('unavailable', `${optionOf[fault.file]} cannot be used: ${fault.message}`);
  return context;
}

/** When the first certificate of a context ends. @returns Unix time in milliseconds */
export function contextEndMs({ cert }: TlsContext): number {
  return Math.min(...cert.map((chain) => Date.parse(new X509Certificate(chain).validTo)));
}

/** Whether the same authorities verify client certificates. */
export function hasSameAuthorities({ ca: one }: TlsContext, { ca: other }: TlsContext): boolean {
  return one === undefined || other === undefined ? one === other : one.equals(other);
}

/**
 * The context after a reload: files of changed options are read; for unchanged options `TlsWatch` finds changes.
 *
 * @param nowMs Unix time in milliseconds
 * @throws ServiceError as `readTlsContext`
 */
export function nextTlsContext(before: TlsOptions, options: TlsOptions, inUse: TlsContext, nowMs: number): TlsContext {
  const isSame = Object.values(optionOf).every((option) => before[option] === options[option]);
  return isSame ? { ...inUse, minVersion: options.tls_minimum_version } : readTlsContext(options, nowMs);
}

function faultsOf({ cert, key, ca }: TlsContext, nowMs: number): TlsFault[] {
  return [
    ...cert.flatMap((certificate, index) => checkTlsPairs(certificate, key[index], nowMs)),
    ...(ca ? checkAuthorities(ca.toString('latin1'), nowMs) : []),
  ];
}

function readSet(option: TlsFile, path: string | null | undefined, mayBeOld: boolean): Buffer {
  if (!path) throw new ServiceError('unavailable', `${option} is not set.`);
  return readNamedFile(path, option, mayBeOld);
}
