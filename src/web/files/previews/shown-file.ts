import { addStyle } from '../../shared/parts.ts';
import { text } from '../language.ts';
import { linkOf, nameOf, type Row } from '../rows/rows.ts';
import { alert, type Shown } from '../viewer/shown.ts';
import style from './previews.css';
import { Refusal, RemoteFile } from './remote-file.ts';

addStyle(style);

/** A part of the script that shows files of one kind. */
interface FilePart {
  /** Bytes that it reads of any file: of its beginning, or below zero of its end. */
  firstBytes: number;
  /** @throws Refusal */
  show(file: RemoteFile, signal: AbortSignal): Promise<HTMLElement>;
}

/** Shows a text or an archive, whose part of the script is loaded for it. */
export async function shownFile(row: Row, load: () => Promise<FilePart>): Promise<Shown> {
  const work = new AbortController();
  try {
    const part = await load().catch(() => {
      throw new Refusal(text('partMissing'));
    });
    const file = await RemoteFile.open(nameOf(row), linkOf(row).pathname, part.firstBytes, work.signal);
    return { nodes: [await part.show(file, work.signal)], clean: () => work.abort() };
  } catch (error) {
    if (error instanceof Refusal) return alert(error.message);
    throw error;
  }
}
