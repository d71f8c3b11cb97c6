import { compileAddressRanges } from '../lib/address-ranges.ts';
import { ServiceError } from '../lib/errors.ts';

/** What a request is about; without any member everything. */
export interface Selection {
  ids?: readonly string[] | undefined;
  account?: string | undefined;
  /** An address, or a CIDR range. */
  address?: string | undefined;
  /** Says that no other member means everything; to remove, that has to be said. */
  all?: boolean | undefined;
}

/** What things of all kinds are selected by. */
export interface Selectable {
  readonly id: string;
  readonly account?: string;
  readonly address?: string;
}

/** A selection as the query of a request. */
export function selectionQuery({ ids = [], account, address, all }: Selection): URLSearchParams {
  return new URLSearchParams([
    ...ids.map((id): [string, string] => ['id', id]),
    ...(account === undefined ? [] : [['account', account] as [string, string]]),
    ...(address === undefined ? [] : [['address', address] as [string, string]]),
    ...(all ? [['all', '1'] as [string, string]] : []),
  ]);
}

/** Reads `selectionQuery`. @throws ServiceError `bad-request` for anything else in it */
export function selectionOf(query: URLSearchParams): Selection {
  for (const name of query.keys())
    if (!['id', 'account', 'address', 'all'].includes(name)) throw new ServiceError('bad-request', `There is no parameter "${name}".`);
  return {
    ids: query.has('id') ? query.getAll('id') : undefined,
    account: query.get('account') ?? undefined,
    address: query.get('address') ?? undefined,
    all: query.has('all'),
  };
}

/** Whether something narrows it down. */
export function isNarrowed({ ids, account, address }: Selection): boolean {
  return ids !== undefined || account !== undefined || address !== undefined;
}

/**
 * Which things a selection means; all of its members must hold.
 *
 * @throws ServiceError `bad-request` for an address that is none
 */
export function selects({ ids, account, address }: Selection): (item: Selectable) => boolean {
  const wanted = ids && new Set(ids);
  const isNear = address === undefined ? () => true : meets(address);
  return (item) => (wanted?.has(item.id) ?? true) && (account === undefined || item.account === account) && isNear(item.address ?? '');
}

/** Whether an address or range lies in another, or the other in it. */
function meets(wanted: string): (address: string) => boolean {
  const isWithin = compileAddressRanges([wanted]);
  return (address) => isWithin(first(address)) || (address.includes('/') && compileAddressRanges([address])(first(wanted)));
}

function first(range: string): string {
  return range.split('/', 1)[0] ?? '';
}
