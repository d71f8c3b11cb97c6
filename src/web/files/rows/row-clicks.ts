import { byId } from '../../shared/dom.ts';
import { checkboxOf, linkOf, type Row } from './rows.ts';
import { selectUpTo } from './selection.ts';

/** A press anywhere in a row is one on its link, beside the box one on the box, with the keys that were held; with Shift it selects up to the row. */
export function startRowClicks(): void {
  byId('list').addEventListener('click', (event) => {
    const { target } = event;
    if (!(target instanceof Element) || target.closest('input, button')) return;
    const row = target.closest<Row>('#list tbody tr');
    if (!row) return;
    if (event.shiftKey && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      // What the press marked as text on its way.
      getSelection()?.empty();
      return selectUpTo(row);
    }
    if (target.closest('a')) return;
    const isBox = target.closest('td') === row.cells[0];
    // The end of marking a text is no press.
    if (!isBox && getSelection()?.isCollapsed === false) return;
    const meant = isBox ? checkboxOf(row) : linkOf(row);
    const { ctrlKey, metaKey, shiftKey, altKey } = event;
    meant.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, ctrlKey, metaKey, shiftKey, altKey }));
  });
}
