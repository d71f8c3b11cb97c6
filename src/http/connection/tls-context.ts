import type { SecureVersion } from 'node:tls';
import { readNamedFile } from '../../lib/disk/named-file.ts';
import { ServiceError } from '../../lib/errors.ts';
import { faultsOfAuthorities, faultsOfPairs, type TlsFault } from '../../lib/tls-check.ts';
import { tlsPairs } from '../../lib/tls-pairs.ts';
import type { HttpServiceOptions } from '../options.ts';

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
    ...cert.flatMap((certificate, index) => faultsOfPairs(certificate, key[index], nowMs)),
    ...(ca ? faultsOfAuthorities(ca.toString('latin1'), nowMs) : []),
  ];
}

function readSet(option: TlsFile, path: string | null | undefined, mayBeOld: boolean): Buffer {
  if (!path) throw new ServiceError('unavailable', `${option} is not set.`);
  return readNamedFile(path, option, mayBeOld);
}
