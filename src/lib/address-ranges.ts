import { BlockList, isIP } from 'node:net';
import { ServiceError } from './errors.ts';

/**
 * Compiles a list of addresses and CIDR ranges (`192.0.2.7`, `10.0.0.0/8`, `2001:db8::/32`).
 *
 * @returns a function that checks whether an address is in one of them. IPv4-mapped IPv6 addresses are treated as IPv4
 * @throws ServiceError `bad-request` with the item that is neither an address nor a range
 */
export function compileAddressRanges(items: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const item of items) addRange(list, item);
  return (text) => {
    const address = text.replace(/^::ffff:(?=\d+\.)/i, '');
    const family = isIP(address);
    return family !== 0 && list.check(address, family === 4 ? 'ipv4' : 'ipv6');
  };
}

function addRange(list: BlockList, item: string): void {
  const [address = '', prefix, ...rest] = item.split('/');
  const family = isIP(address);
  const longest = family === 4 ? 32 : 128;
  const bits = prefix === undefined ? longest : /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  if (family === 0 || rest.length > 0 || !(bits <= longest))
    throw new ServiceError('bad-request', `"${item}" is neither an IP address nor a CIDR range.`);
  list.addSubnet(address, bits, family === 4 ? 'ipv4' : 'ipv6');
}
