import { isIP } from 'node:net';
import { authority } from '../../lib/listen.ts';
import type { Report } from '../findings.ts';
import type { Config } from '../schema/schema.ts';

interface Taken {
  uuid: string;
  address: string;
}

/** The services on one port: of each kind that others collide with, the first. */
interface Port {
  byAddress: Map<string, Taken>;
  any?: Taken;
  /** On `::`. */
  all6?: Taken;
  /** On `0.0.0.0`. */
  all4?: Taken;
  /** On no IPv6 address. */
  not6?: Taken;
}

/** Two enabled services must not listen on one port, `0.0.0.0` and `::` standing for every address of the machine. */
export function lintAddresses(config: Config, report: Report): void {
  const ports = new Map<number, Port>();
  for (const [uuid, { enabled, address, port }] of Object.entries(config.services)) {
    if (!enabled || port === 0) continue;
    const taken: Port = ports.get(port) ?? { byAddress: new Map() };
    ports.set(port, taken);
    const other = claim(taken, { uuid, address });
    if (!other) continue;
    const how = other.address === address ? 'is also the address of' : `is taken by ${authority(other.address, port)} of`;
    report('error', 'address-in-use', ['services', uuid, 'port'], `${authority(address, port)} ${how} the service "${other.uuid}"`);
  }
}

// A listener on `::` takes IPv4 as well (Node.js leaves IPV6_V6ONLY off); one on `0.0.0.0` takes no IPv6.
function claim(taken: Port, service: Taken): Taken | undefined {
  const { family, text, isAll4, isAll6 } = familyOf(service.address);
  const other =
    taken.byAddress.get(text) ?? taken.all6 ?? (isAll6 ? taken.any : isAll4 ? taken.not6 : family === 6 ? undefined : taken.all4);
  if (!taken.byAddress.has(text)) taken.byAddress.set(text, service);
  taken.any ??= service;
  if (isAll6) taken.all6 ??= service;
  if (isAll4) taken.all4 ??= service;
  if (family !== 6) taken.not6 ??= service;
  return other;
}

function familyOf(address: string): { family: number; text: string; isAll4: boolean; isAll6: boolean } {
  const named = address.toLowerCase() === 'localhost' ? '127.0.0.1' : address;
  const family = isIP(named);
  const text = family === 6 ? new URL(`http://[${named}]/`).hostname.slice(1, -1) : named.toLowerCase();
  return { family, text, isAll4: text === '0.0.0.0', isAll6: text === '::' };
}
