import { startMenu } from '../shared/menu.ts';
import { startNotices } from '../shared/notices.ts';
import { startThemes } from '../shared/theme.ts';
import { startDrag } from './actions/drag.ts';
import { startDelete, startMemberForm, startNewFolder } from './actions/members.ts';
import { startCopy, startMove } from './actions/move.ts';
import { startRename } from './actions/rename.ts';
import { startRowMenu, startRowMenus } from './actions/row-menu.ts';
import { showDate } from './dates.ts';
import { startKeyboard } from './keyboard/keyboard.ts';
import { may } from './navigation/folder.ts';
import { startFolderChanges } from './navigation/folder-change.ts';
import { openAskedLayer } from './navigation/history.ts';
import { startLinks } from './navigation/links.ts';
import { startOpening } from './opening.ts';
import { startFilter } from './rows/filter.ts';
import { startRowClicks } from './rows/row-clicks.ts';
import { startRowDates } from './rows/row-dates.ts';
import { finishRows, rowsAreWhole, startRows } from './rows/rows.ts';
import { selectedRows, startSelection } from './rows/selection.ts';
import { startSearchPage } from './search/search-page.ts';
import { startSpace } from './space.ts';
import { forgetThumbnailsAtSignOut, startThumbnails } from './thumbnails/thumbnails.ts';
import { startUploads } from './uploads/uploads.ts';
import { startView } from './view.ts';

await pageHasCome();
startThemes();
startMenu();
startSpace();
startNotices();
startKeyboard();
startRowMenus();
forgetThumbnailsAtSignOut();
const offerUploads = startUploads();
startFolder();
startFolderChanges(startFolder);
startLinks();
void rowsAreWhole().then(openAskedLayer);
// For whoever measures: from here on the page does what is pressed and typed.
performance.mark('usable');

/**
 * Settled once the page is there, with its style: before that it has no rows, or they have no size. What the script makes before it needs
 * neither, it makes while the service still looks through the folder.
 */
async function pageHasCome(): Promise<void> {
  const happens = (target: EventTarget, type: string) => new Promise((resolve) => target.addEventListener(type, resolve, { once: true }));
  if (document.readyState === 'loading') await happens(document, 'DOMContentLoaded');
  const styles = [...document.querySelectorAll<HTMLLinkElement>('link[rel=stylesheet]')];
  // One that cannot be had has none by then, either.
  if (styles.some(({ sheet }) => !sheet) && document.readyState !== 'complete') await happens(window, 'load');
}

/** Starts what works on the page of a folder: once for each that is shown. */
function startFolder(): void {
  startRows();
  // A folder that may not be looked into has none.
  if (document.getElementById('list')) startListing();
  for (const place of document.querySelectorAll<HTMLElement>('#recent [data-time], .found [data-time]')) showDate(place);
  startSearchPage();
  offerUploads();
}

function startListing(): void {
  startRowDates();
  startSelection();
  startFilter();
  startRowClicks();
  startRowMenu();
  startView();
  if (may('read')) {
    startOpening();
    startThumbnails();
  }
  if (may('delete')) startDelete(selectedRows);
  startMemberForm();
  if (may('create-folder')) startNewFolder();
  if (may('read') && (may('write') || may('rename'))) startCopy();
  if (may('rename')) {
    startDrag();
    void startRename().then((isOffered) => isOffered && startMove());
  }
  finishRows();
}
