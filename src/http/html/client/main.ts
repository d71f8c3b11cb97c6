import { startDelete, startMemberForm, startNewFolder } from './actions/members.ts';
import { startMove } from './actions/move.ts';
import { startRename } from './actions/rename.ts';
import { startDates } from './dates.ts';
import { byId } from './dom.ts';
import { startFilter } from './filter.ts';
import { startKeyboard } from './keyboard.ts';
import { startMenu } from './menu.ts';
import { startNotices } from './notices.ts';
import { startOpening } from './opening.ts';
import { startRowClicks } from './row-clicks.ts';
import { finishRows, whenRowsChange } from './rows.ts';
import { selectedRows, startSelection } from './selection.ts';
import { startSpace } from './space.ts';
import { startThemes } from './theme.ts';
import { startThumbnails } from './thumbnails/thumbnails.ts';
import { ignoreDrops, startUploads } from './uploads/uploads.ts';
import { startView } from './view.ts';

/** What the account may do in this folder; the service checks every request all the same. */
const rights = new Set((byId('main').dataset.may ?? '').split(' '));

startThemes();
startMenu();
startSpace();
startNotices();
// A folder that may not be looked into has none.
if (document.getElementById('list')) startListing();
if (rights.has('write')) startUploads(rights.has('create-folder'));
else ignoreDrops();

function startListing(): void {
  startDates(byId('list'));
  whenRowsChange(finishRows);
  startFilter();
  startSelection();
  startRowClicks();
  startKeyboard(rights.has('delete'));
  startView();
  if (rights.has('read')) {
    startOpening();
    startThumbnails();
  }
  if (rights.has('delete')) startDelete(selectedRows);
  startMemberForm();
  if (rights.has('create-folder')) startNewFolder();
  if (rights.has('rename')) void startRename().then(startMove);
}
