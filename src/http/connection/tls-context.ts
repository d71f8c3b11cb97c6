import { constants } from 'node:crypto';
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

/** How often the files are looked at; what has changed is taken over at the look after, once it stays as it is. */
const lookEveryMs = 2500;

type TlsFiles = Pick<HttpServiceOptions, 'tls_certificate_path' | 'tls_key_path' | 'tls_client_ca_path'>;

/** A service whose files are watched. */
interface Watched {
  options: TlsFiles;
  component: EventComponent;
  events: Pick<EventDispatcher, 'emit'>;
  clock: Clock;
  log: Log;
}

/**
 * Watches certificate, key and client CA of a service, so that renewing them on disk is enough. The files are looked at, not
 * subscribed to: renewals replace files and links in ways that notifications miss.
 */
export class TlsWatch {
  readonly #service: () => Watched;
  readonly #renew: () => void;
  readonly #timer: Timer;
  /** Stamps of the files in use, at the look before, and of those that were last told of as refused. */
  #used: string | undefined;
  #seen: string | undefined;
  #refused: string | undefined;

  /**
   * @param service as it is at present
   * @param renew takes the files over, all or none, or throws when they cannot be used. The old ones stay then, which is told once (`tlsFilesRefused`),
   *   and it is tried again.
   */
  constructor(service: () => Watched, renew: () => void) {
    this.#service = service;
    this.#renew = renew;
    this.#used = this.#seen = stampsOf(service().options);
    this.#timer = service().clock.every(lookEveryMs, () => this.look(false));
  }

  /** Looks now. @param isWhole whether somebody says that nobody writes at them */
  look(isWhole: boolean): void {
    const { options, component, events, log } = this.#service();
    const now = stampsOf(options);
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

/** @returns undefined when they are out of reach, as for a process that gave up the rights that it read them with, or behind links in a circle */
function stampsOf(files: TlsFiles): string | undefined {
  try {
    return [files.tls_certificate_path, files.tls_key_path, files.tls_client_ca_path].map(stampOf).join(' ');
  } catch (error) {
    if (systemErrorCode(error) !== undefined) return undefined;
    throw error;
  }
}

function stampOf(path: string): string {
  const stats = path === '' ? undefined : statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats ? `${path}:${stats.ino}:${stats.size}:${stats.mtimeNs}` : path;
}

/** It takes ten rounds a block where AES-256, which Node.js puts before it, takes fourteen. */
const firstCipher = 'TLS_AES_128_GCM_SHA256';

const ciphers = DEFAULT_CIPHERS.split(':').sort((a, b) => Number(b === firstCipher) - Number(a === firstCipher));

/**
 * Shakes hands on the connections of an https service that are given to it (`emit('connection', socket)`). What has shaken hands is a
 * `secureConnection`, whose `alpnProtocol` says what is spoken on it.
 */
export function createTlsServer({ uuid, tickets }: HttpService, context: TlsContext): Server {
  return createServer({
    ...context,
    ...tickets.of(uuid, context.ca),
    ciphers: ciphers.join(':'),
    // For clients that put it first, as they have no AES in hardware.
    secureOptions: constants.SSL_OP_PRIORITIZE_CHACHA,
    ALPNProtocols: ['h2', 'http/1.1'],
    // A certificate that does not verify authenticates nobody (client-certificate.ts), but other credentials may.
    ...(context.ca ? { requestCert: true, rejectUnauthorized: false } : {}),
  });
}

/** What a TLS server needs; re-read at each reload, so that a renewed certificate takes effect. */
export interface TlsContext {
  /** Chains and keys as PEM: the first of one belongs to the first of the other. */
  cert: string[];
  key: string[];
  /** Authorities of clients as PEM. */
  ca?: Buffer;
  minVersion: SecureVersion;
}

/** The options of a service that say what it shows its clients. */
export type TlsOptions = Pick<HttpServiceOptions, 'tls_certificate_path' | 'tls_key_path' | 'tls_client_ca_path' | 'tls_minimum_version'>;

type TlsFile = 'tls_certificate_path' | 'tls_key_path' | 'tls_client_ca_path';

/** Faults with which files do not take the place of others that have none: clients would refuse them. */
const hindering: ReadonlySet<TlsFault['code']> = new Set(['tls-expired', 'tls-chain']);

const optionOf = { certificate: 'tls_certificate_path', key: 'tls_key_path', authorities: 'tls_client_ca_path' } as const;

/**
 * Reads certificates, keys and client CA of an https service; of several keys OpenSSL takes one that the client knows.
 *
 * @param nowMs Unix time in milliseconds
 * @param inUse what they are to replace: files with a fault that these do not have are refused, too
 * @throws ServiceError `unavailable` naming the option whose file cannot be read or used, and why
 */
export function readTlsContext(options: TlsOptions, nowMs: number, inUse?: TlsContext): TlsContext {
  // What is to replace others is what the files hold now.
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

/** Whether the same authorities verify client certificates. */
export function hasSameAuthorities({ ca: one }: TlsContext, { ca: other }: TlsContext): boolean {
  return one === undefined || other === undefined ? one === other : one.equals(other);
}

/**
 * What a reload makes of the files in use: those of other options are read; of the same ones none is: who watches them says whether they
 * changed and can be used.
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
