import { isIP } from 'node:net';
import type { Report } from '../findings.ts';
import type { Config } from '../schema/schema.ts';

/** Two enabled services must not listen on one port, `0.0.0.0` and `::` standing for every address of the machine. */
export function lintAddresses(config: Config, report: Report): void {
  const taken: { uuid: string; address: string; port: number }[] = [];
  for (const [uuid, { enabled, address, port }] of Object.entries(config.services)) {
    if (!enabled || port === 0) continue;
    const other = taken.find((candidate) => candidate.port === port && overlap(candidate.address, address));
    if (other) {
      const how = other.address === address ? 'is also the address of' : `is taken by ${shown(other.address, port)} of`;
      report('error', 'address-in-use', ['services', uuid, 'port'], `${shown(address, port)} ${how} the service "${other.uuid}"`);
    }
    taken.push({ uuid, address, port });
  }
}

function shown(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

// A listener on `::` takes IPv4 as well (Node.js leaves IPV6_V6ONLY off); one on `0.0.0.0` takes no IPv6.
function overlap(a: string, b: string): boolean {
  const first = familyOf(a);
  const second = familyOf(b);
  if (a.toLowerCase() === b.toLowerCase() || first.text === second.text) return true;
  if (first.isAll6 || second.isAll6) return true;
  return (first.isAll4 && second.family !== 6) || (second.isAll4 && first.family !== 6);
}

function familyOf(address: string): { family: number; text: string; isAll4: boolean; isAll6: boolean } {
  const named = address.toLowerCase() === 'localhost' ? '127.0.0.1' : address;
  const family = isIP(named);
  const text = family === 6 ? new URL(`http://[${named}]/`).hostname.slice(1, -1) : named.toLowerCase();
  return { family, text, isAll4: text === '0.0.0.0', isAll6: text === '::' };
}
