import type { Account } from '../accounts/account.ts';
import type { JournalledDispatcher } from '../events/dispatcher.ts';
import { processAccount } from '../events/event-factory.ts';
import { eventIds } from '../events/event-ids.ts';
import type { EventLog } from '../events/journal/event-log.ts';
import { journalEvents } from '../events/journal/event-search.ts';
import { eventTimeMs } from '../events/journal/search/event-selection.ts';
import type { FilesEnvironment } from '../files/files-environment.ts';
import { ForwardedFiles, OpenedForwardedFile } from '../files/forwarded-files.ts';
import type { ForwardMeans } from '../webhooks/forward/means.ts';

interface Dependencies {
  journal: EventLog;
  events: JournalledDispatcher;
  /** Returns the environment of the file operations, which all accounts share. */
  files: () => FilesEnvironment;
  findAccount: (name: string) => Account | undefined;
}

/** Creates the functions of a running service that forwarding handlers need. */
export function forwardMeans({ journal, events, files, findAccount }: Dependencies): ForwardMeans {
  const forwarded = () => new ForwardedFiles({ environment: files(), findAccount });
  return {
    open: (event, movedTo) => forwarded().open(event, movedTo),
    connectSftp: async (...options) => (await import('../ssh/client/sftp-client.ts')).connectSftp(...options),
    records: {
      async forwarded(event, { component, url, sizeBytes, digest, status }) {
        const about = { event_id: event.id, event_uuid: event.uuid, uuid: component.uuid, name: component.name };
        // This must happen before the file is moved: after a kill, the node that takes over must find that the file was sent.
        await events.emitShared({
          id: eventIds.fileForwarded,
          context: { account: processAccount(), component },
          data: { ...about, url, status, path: event.data.path, size: sizeBytes, digest },
        });
      },
      async wasForwarded(event, handler) {
        const selection = { id: [eventIds.fileForwarded], uuid: [], text: event.uuid };
        // The clocks of nodes differ, so the search begins earlier than the event.
        for await (const { event: told } of journalEvents(journal, selection, () => {}, eventTimeMs(event) - 3_600_000))
          if (told.data.event_uuid === event.uuid && told.data.uuid === handler) return true;
        return false;
      },
      async finish(event, file, after, component) {
        if (!(file instanceof OpenedForwardedFile)) throw new Error('The file was opened elsewhere.');
        if (after.kind === 'delete') await forwarded().remove(event, file, component);
        else await forwarded().move(event, file, after.segments, component);
      },
    },
  };
}
