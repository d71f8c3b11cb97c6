import { byId } from './dom.ts';
import { checkboxOf, linkOf, type Row } from './rows.ts';

/** A press anywhere in a row is one on its link, beside the box one on the box, with the keys that were held. */
export function startRowClicks(): void {
  byId('list').addEventListener('click', (event) => {
    const { target } = event;
    if (!(target instanceof Element) || target.closest('a, input, button')) return;
    const row = target.closest<Row>('#list tbody tr');
    if (!row) return;
    const isBox = target.closest('td') === row.cells[0];
    // The end of marking a text is no press.
    if (!isBox && getSelection()?.isCollapsed === false) return;
    const meant = isBox ? checkboxOf(row) : linkOf(row);
    const { ctrlKey, metaKey, shiftKey, altKey } = event;
    meant.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, ctrlKey, metaKey, shiftKey, altKey }));
  });
}
