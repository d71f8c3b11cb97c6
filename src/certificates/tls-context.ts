import { constants, X509Certificate } from 'node:crypto';
import { statSync } from 'node:fs';
import { createServer, DEFAULT_CIPHERS, type SecureVersion, type Server } from 'node:tls';
import type { EventDispatcher } from '../events/dispatcher.ts';
import type { EventComponent } from '../events/event.ts';
import { processAccount } from '../events/event-factory.ts';
import { eventIds } from '../events/event-ids.ts';
import type { Clock, Timer } from '../lib/clock.ts';
import { readNamedFile } from '../lib/disk/named-file.ts';
import { ServiceError, systemErrorCode } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import type { TicketKeys } from '../lib/ticket-keys.ts';
import { checkAuthorities, checkTlsPairs, type TlsFault, tlsPairs } from '../lib/tls-files.ts';
import type { TlsOptions } from './options.ts';

/**
 * Interval of the checks in milliseconds. Changed files are used at the next check, if they have not changed again by then. So files that
 * are still being written are not used.
 */
const checkEveryMs = 2500;

type TlsFiles = Pick<TlsOptions, TlsFile>;

interface Watched {
  options: TlsFiles;
  component: EventComponent;
  events: Pick<EventDispatcher, 'emit'>;
  clock: Clock;
  log: Log;
}

/**
 * Polls the certificate, key and client CA files of a service, so that new files are used without a reload. File-system notifications would
 * miss files and symbolic links that are replaced.
 */
export class TlsWatch {
  readonly #service: () => Watched;
  readonly #renew: () => void;
  readonly #timer: Timer;
  /**
   * Stamps (inode, size and time) of the files in use, of the files at the last check, and of the files that were last reported as refused.
   */
  #used: string | undefined;
  #seen: string | undefined;
  #refused: string | undefined;

  /**
   * @param service returns the current service
   * @param renew starts to use all files. If they cannot be used, it throws, and the old files stay in use. Event `tlsFilesRefused` reports
   *   this, but only once for the same files
   */
  constructor(service: () => Watched, renew: () => void) {
    this.#service = service;
    this.#renew = renew;
    this.#used = this.#seen = readStamps(service().options);
    this.#timer = service().clock.every(checkEveryMs, () => this.check(false));
  }

  /** Checks the files now. @param isWhole whether the files are known to be complete */
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
      log.error('the TLS files changed and cannot be used; the previous ones stay in use', { service: uuid, reason: error });
      const data = { name, type, uuid, details: (error as Error).message };
      events.emit({ id: eventIds.tlsFilesRefused, context: { account: processAccount(), component }, data });
    }
  }

  cancel(): void {
    this.#timer.cancel();
  }
}

/**
 * Returns a text that changes when a file changes; undefined if a file cannot be reached, for example because the process has dropped its
 * privileges or symbolic links are circular.
 */
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

/** The preferred cipher. Node.js prefers AES-256. But AES-128 is faster, because it needs ten rounds per block instead of fourteen. */
const firstCipher = 'TLS_AES_128_GCM_SHA256';

const ciphers = DEFAULT_CIPHERS.split(':').sort((a, b) => Number(b === firstCipher) - Number(a === firstCipher));

/**
 * Creates the TLS server of an https service. Pass connections to it with `emit('connection', socket)`. The negotiated protocol is the
 * `alpnProtocol` of the secure socket.
 */
export function createTlsServer({ uuid, tickets }: { uuid: string; tickets: TicketKeys }, context: TlsContext): Server {
  return createServer({
    ...context,
    ...tickets.of(uuid, context.ca),
    ciphers: ciphers.join(':'),
    // Clients without AES in hardware prefer ChaCha20. For such clients, the server uses it first, too.
    secureOptions: constants.SSL_OP_PRIORITIZE_CHACHA,
    ALPNProtocols: ['h2', 'http/1.1'],
    // A client whose certificate cannot be verified may connect, but only other credentials can authenticate it
    // (`certificateCredentials`).
    ...(context.ca ? { requestCert: true, rejectUnauthorized: false } : {}),
  });
}

/** Options of a TLS server, with the content of the TLS files. */
export interface TlsContext {
  /** Certificate chains and keys as PEM. Chains and keys at the same index belong together. */
  cert: string[];
  key: string[];
  /** Authorities that sign client certificates, as PEM. */
  ca?: Buffer;
  minVersion: SecureVersion;
}

type TlsFile = 'tls_certificate_path' | 'tls_key_path' | 'tls_client_ca_path';

/** Problems that make clients refuse a certificate. New files with such a problem are refused if the files in use do not have it. */
const hindering: ReadonlySet<TlsFault['code']> = new Set(['tls-expired', 'tls-chain']);

const optionNames = { certificate: 'tls_certificate_path', key: 'tls_key_path', authorities: 'tls_client_ca_path' } as const;

/**
 * Reads the certificates, keys and client CA of an https service. If there are several keys, OpenSSL uses one that the client supports.
 *
 * @param nowMs Unix time in milliseconds
 * @param inUse the files in use. New files are refused if they have a problem of `hindering` that the files in use do not have
 * @throws ServiceError `unavailable` if a file cannot be read or used. The message names the option of the file, and the reason
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
  const before = inUse && findFaults(inUse, nowMs);
  const isNew = ({ code, file }: TlsFault) => !before?.some((fault) => fault.code === code && fault.file === file);
  const hinders = (fault: TlsFault) => fault.severity === 'error' || (before && hindering.has(fault.code) && isNew(fault));
  const fault = findFaults(context, nowMs).find(hinders);
  if (fault) throw new ServiceError('unavailable', `${optionNames[fault.file]} cannot be used: ${fault.message}`);
  return context;
}

/** Returns the earliest time at which a certificate of a context expires. @returns Unix time in milliseconds */
export function contextEndMs({ cert }: TlsContext): number {
  return Math.min(...cert.map((chain) => Date.parse(new X509Certificate(chain).validTo)));
}

/** Returns whether two contexts verify client certificates with the same authorities. */
export function hasSameAuthorities({ ca: one }: TlsContext, { ca: other }: TlsContext): boolean {
  return one === undefined || other === undefined ? one === other : one.equals(other);
}

/**
 * Returns the context to use after a reload. The files are read only if a path changed, because `TlsWatch` notices changed content.
 *
 * @param nowMs Unix time in milliseconds
 * @throws ServiceError for the same reasons as `readTlsContext`
 */
export function nextTlsContext(before: TlsOptions, options: TlsOptions, inUse: TlsContext, nowMs: number): TlsContext {
  const isSame = Object.values(optionNames).every((option) => before[option] === options[option]);
  return isSame ? { ...inUse, minVersion: options.tls_minimum_version } : readTlsContext(options, nowMs);
}

function findFaults({ cert, key, ca }: TlsContext, nowMs: number): TlsFault[] {
  return [
    ...cert.flatMap((certificate, index) => checkTlsPairs(certificate, key[index], nowMs)),
    ...(ca ? checkAuthorities(ca.toString('latin1'), nowMs) : []),
  ];
}

function readSet(option: TlsFile, path: string | null | undefined, mayBeOld: boolean): Buffer {
  if (!path) throw new ServiceError('unavailable', `${option} is not set.`);
  return readNamedFile(path, option, mayBeOld);
}
