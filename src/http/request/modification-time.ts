import { ServiceError } from '../../lib/errors.ts';
import { type Exchange, header } from './exchange.ts';

/** Latest time that `X-OC-Mtime` may name, Unix time in seconds: the end of year 9999. */
const latestTimeS = 253_402_300_799;

/** `X-OC-Mtime`, Unix time in milliseconds; undefined without one. @throws ServiceError `bad-request` */
export function requestedModificationTime(exchange: Exchange): number | undefined {
  const text = header(exchange, 'x-oc-mtime');
  if (text === undefined) return undefined;
  const seconds = Number(text);
  if (!/^\d+(\.\d+)?$/.test(text) || seconds > latestTimeS)
    throw new ServiceError('bad-request', 'X-OC-Mtime is not a Unix time in seconds.');
  return seconds * 1000;
}
