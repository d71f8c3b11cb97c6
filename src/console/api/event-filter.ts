import { eventGroups, eventIds } from '../../events/event-ids.ts';
import type { EventSelection } from '../../events/journal/search/event-selection.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Parameters } from './parameters.ts';

/** The members of a filter of events. */
export const selectionNames = ['since', 'until', 'id', 'group', 'account', 'path', 'address', 'request_id', 'text'];

/** Most items of one member. */
const maxItems = 1000;

/** Reads a filter of events. @throws ServiceError `bad-request` */
export function selectionOf(parameters: Parameters): EventSelection {
  const [since, until] = [parameters.timeMs('since'), parameters.timeMs('until')];
  const id = (parameters.codes('id', maxItems) ?? []).map((item) => {
    if (!/^\d{1,6}$/.test(item)) throw new ServiceError('bad-request', `"id" must be IDs of events, such as ${eventIds.fileUploaded}.`);
    return Number(item);
  });
  const list = (name: string) => parameters.texts(name, maxItems) ?? [];
  const text = parameters.text('text');
  return {
    id,
    uuid: [],
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
    group: parameters.oneOf('group', eventGroups) ?? [],
    account: list('account'),
    path: list('path'),
    address: list('address'),
    requestId: list('request_id'),
    ...(text !== undefined && { text }),
  };
}
