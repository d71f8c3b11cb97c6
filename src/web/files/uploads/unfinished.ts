import { displayName, nameInText } from '../../../lib/display-name.ts';
import { wholeTime } from '../../shared/dates.ts';
import { byId, make, makeButton } from '../../shared/dom.ts';
import { sizeText } from '../../shared/locale.ts';
import { notice } from '../../shared/notices.ts';
import { text } from '../language.ts';
import { conflictRule, folderUrl } from '../navigation/folder.ts';
import { forgetUpload, isKept, type KeptUpload, keptUploads, whenFree } from './kept-uploads.ts';
import { tryRequest } from './requests.ts';
import { newUpload, type Upload } from './upload.ts';
import { uploadPath } from './upload-state.ts';
import { uploadText } from './upload-text.ts';

/**
 * Offers to continue the unfinished uploads to this folder. The user must choose each file again. Uploads that another tab is sending are
 * not offered.
 * @param add sends a file that was chosen again
 * @returns a function that withdraws the offer for an upload which has been continued
 */
export function offerUnfinished(add: (uploads: Upload[]) => void): (location: string) => void {
  const lines = new Map<string, HTMLElement>();
  const taken = new Set<string>();
  const list = make('ul');
  const heading = make('h2', { id: 'unfinished' }, uploadText('unfinished'));
  const hint = make('p.hint', uploadText('unfinishedHint'));
  const element = make('section.unfinished', { attributes: { 'aria-labelledby': heading.id } }, heading, hint, list);

  const withdraw = (location: string) => {
    taken.add(location);
    lines.get(location)?.remove();
    lines.delete(location);
    if (lines.size === 0) element.remove();
  };

  const offer = async (kept: KeptUpload) => {
    const { location } = kept;
    if (!isKept(kept)) return;
    const reply = await tryRequest('HEAD', location);
    const isOver = reply?.headers.get('upload-complete') === '?1';
    if (isOver || reply?.status === 404 || reply?.status === 410) forgetUpload(kept);
    if (isOver || !reply?.ok || taken.has(location) || kept.home !== folderUrl()) return;
    const path = uploadPath(kept);
    const done = text('running', { done: sizeText(Number(reply.headers.get('upload-offset'))), total: sizeText(kept.size) });
    const field = make('input', { type: 'file', hidden: true, ariaLabel: `${text('resume')}: ${path}` });
    field.addEventListener('change', () => {
      if (field.files?.[0]) take(kept, field.files[0]);
      field.value = '';
    });
    const resume = makeButton(text('resume'), undefined, () => field.click());
    const discard = makeButton(uploadText('discard'), undefined, () => drop(kept), 'quiet');
    for (const button of [resume, discard]) button.ariaLabel = `${button.textContent}: ${path}`;
    const title = make('span.title', { title: displayName(path) }, make('bdi', displayName(path)));
    const line = make('li', title, make('span.hint', done), resume, discard, field);
    lines.set(location, line);
    list.append(line);
    byId('members').before(element);
  };

  const take = ({ fileName, size, lastModified, home, folder }: KeptUpload, file: File) => {
    if (file.name === fileName && file.size === size && file.lastModified === lastModified)
      add([newUpload(file, home, folder, conflictRule())]);
    else notice(uploadText('otherFile', { name: nameInText(fileName), size: sizeText(size), time: wholeTime(lastModified) }), 'error');
  };

  const drop = (kept: KeptUpload) => {
    forgetUpload(kept);
    withdraw(kept.location);
    void tryRequest('DELETE', kept.location);
  };

  for (const kept of keptUploads()) void whenFree(kept.location).then(() => offer(kept));
  return withdraw;
}
