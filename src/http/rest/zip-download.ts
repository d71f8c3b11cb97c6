import { eventIds } from '../../events/event-ids.ts';
import { gatherMembers, writeArchive } from '../../files/operations/archive.ts';
import { ServiceError } from '../../lib/errors.ts';
import { contentDisposition } from '../../lib/headers/header-fields.ts';
import { PagedBody, takeSendBuffers } from '../../lib/send-buffers.ts';
import { baseName, type VirtualPath } from '../../lib/virtual-path.ts';
import { zipLength } from '../../lib/zip/zip-records.ts';
import { BodyWriter } from '../reply/body-writer.ts';
import { isHttp2 } from '../reply/outgoing.ts';
import { stream } from '../reply/respond.ts';
import type { Exchange } from '../request/exchange.ts';
import { selectedPath } from '../request/request-target.ts';

/**
 * Streams a folder, or some of its members, as a ZIP archive. The archive is not compressed, so its exact length is known in advance.
 * Symbolic links and unreadable members are omitted (docs/spec/files.md#archives).
 *
 * @param names the members, relative to the folder. Without them, the whole folder is sent, and names in the archive are full virtual paths
 * (for visitors of a link, paths that begin with the name of the folder)
 */
export async function sendZip(exchange: Exchange, names?: readonly string[]): Promise<Response> {
  const { path: folder, files } = exchange;
  const { clock } = exchange.service;
  const startedMs = clock.monotonicMs();
  const writer = new BodyWriter(exchange);
  let body: PagedBody | undefined;
  const eventData = () => ({
    duration: Math.round((clock.monotonicMs() - startedMs) * 1000) / 1e6,
    total_read: body?.sentBytes ?? 0,
    files: names,
  });
  try {
    const { visit } = exchange;
    const endTurn = await visit?.takeTurn();
    const topName = visit ? [baseName(folder)] : folder.slice(1).split('/');
    const selection = names && { names, pathOf: (name: string) => selectedPath(folder, name) };
    const members = await gatherMembers(files, folder, selection, topName, () => writer.checkClient()).finally(endTurn);
    if (!exchange.isHead) await visit?.countDownload();
    files.events.emit(eventIds.zipStarted, folder, { files: names });
    const lengthBytes = zipLength(members.map((member) => member.entry));
    const headers = {
      'content-type': 'application/zip',
      'content-length': lengthBytes,
      'content-disposition': contentDisposition('attachment', `${archiveName(folder, names)}.zip`),
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    };
    return await stream(exchange, 200, headers, async () => {
      const buffers = takeSendBuffers(isHttp2(exchange.outgoing));
      body = new PagedBody(writer, buffers.pair);
      let isWhole = false;
      const hide = files.showDownload(folder, lengthBytes, () => body?.sentBytes ?? 0);
      try {
        await writeArchive(files, members, body);
        await body.end();
        isWhole = true;
      } finally {
        hide();
        buffers.release(isWhole);
      }
      files.events.emit(eventIds.zipDone, folder, eventData());
    });
  } catch (error) {
    files.events.emit(eventIds.zipFailed, folder, {
      ...eventData(),
      details: error instanceof ServiceError ? error.message : 'The archive could not be created.',
    });
    throw error;
  }
}

/** Returns the name of the archive: the name of the only selected member, or else of the folder. */
function archiveName(folder: VirtualPath, names: readonly string[] | undefined): string {
  const [only = '', ...others] = names ?? [];
  return (others.length === 0 && only) || baseName(folder) || 'Files';
}
