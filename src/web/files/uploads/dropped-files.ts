import { folderUrl } from '../navigation/folder.ts';
import { newUpload, type Upload } from './upload.ts';

/** What a drop brought: files in their folders, and folders that hold nothing. */
export interface Dropped {
  /** URL path of the folder on whose page it was. */
  home: string;
  uploads: Upload[];
  emptyFolders: string[];
}

/** Reads what was dropped, whole folders with all they hold. Must be called while the event is handled. */
export async function droppedFiles(transfer: DataTransfer): Promise<Dropped> {
  // The items are gone as soon as the event is over, so they are taken before the first wait.
  const entries = [...transfer.items].flatMap((item) => item.webkitGetAsEntry?.() ?? []);
  const home = folderUrl();
  const dropped: Dropped = { home, uploads: [], emptyFolders: [] };
  if (entries.length === 0) dropped.uploads.push(...[...transfer.files].map((file) => newUpload(file, home, '')));
  for (const entry of entries) await gather(entry, '', dropped);
  return dropped;
}

/** What a field for files brought; one for folders says where each file lies. */
export function chosenFiles(files: FileList): Upload[] {
  return [...files].map((file) => newUpload(file, folderUrl(), file.webkitRelativePath.split('/').slice(0, -1).join('/')));
}

async function gather(entry: FileSystemEntry, folder: string, dropped: Dropped): Promise<void> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    dropped.uploads.push(newUpload(file, dropped.home, folder));
    return;
  }
  const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  let isEmpty = true;
  for (;;) {
    // A reader gives at most 100 entries a time; an empty list is the end.
    const members = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (members.length === 0) break;
    isEmpty = false;
    for (const member of members) await gather(member, path, dropped);
  }
  if (isEmpty) dropped.emptyFolders.push(path);
}
