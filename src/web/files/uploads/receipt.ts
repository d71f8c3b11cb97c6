import { byId, icon, make } from '../../shared/dom.ts';
import type { Upload } from './upload.ts';
import { uploadText } from './upload-text.ts';

/** Maximum number of files of one receipt. It matches the limit of the service. */
const filesOfReceipt = 200;

/** Event IDs of the files that arrived since the page was opened. */
const arrived: string[] = [];
const list = make('p.row');
const lead = make('p.lead');
const section = make('section.notice.success', { role: 'status', id: 'receipt' }, lead, list);

/** Shows a visitor of a link where to get the receipt for all files sent so far. There are no receipts for accounts. */
export function offerReceipt(ended: readonly Upload[]): void {
  const fresh = ended.flatMap(({ state, eventId }) => (state === 'done' && eventId !== undefined ? [eventId] : []));
  if (fresh.length === 0) return;
  arrived.push(...fresh.filter((id) => !arrived.includes(id)));
  lead.textContent = uploadText('filesArrived', { count: arrived.length });
  const links = [];
  for (let at = 0; at < arrived.length; at += filesOfReceipt) {
    const ids = arrived.slice(at, at + filesOfReceipt).join(',');
    links.push(make('a.button.primary', { href: `receipt?ids=${ids}` }, icon('list'), uploadText('receipt')));
  }
  list.replaceChildren(...links);
  byId('members').before(section);
}
