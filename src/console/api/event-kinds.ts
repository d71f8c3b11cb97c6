import { definitions, type EventDefinition } from '../../events/catalogue.ts';
import { eventIds } from '../../events/event-ids.ts';
import { answerJson } from '../answer.ts';
import type { ConsoleContext } from '../environment.ts';
import type { EventKinds } from './schemas/events.ts';

type Kind = EventKinds['events'][number];

/** Events about routine work of the service, which would hide those about files and people. */
const routine = new Set<number>([eventIds.eventDelivered, eventIds.journalCheckpoint, eventIds.methodSkipped]);

const kinds: EventKinds = { events: Object.entries(definitions).map(([name, definition]) => kindOf(name, definition)) };

function kindOf(name: string, { id, groups }: EventDefinition): Kind {
  return { id: String(id), name: wordsOf(name), groups: [...groups], severity: severityOf(id, groups), is_routine: routine.has(id) };
}

/** A failure of the service itself is an error; a failed request, of which the client knows, is a warning. */
function severityOf(id: number, groups: EventDefinition['groups']): Kind['severity'] {
  if (groups.includes('failure'))
    return id === eventIds.internalError || groups.includes('process') || groups.includes('expectation') ? 'error' : 'warning';
  return groups.includes('success') ? 'success' : 'information';
}

/** The words of a name in the code: `sftpFileUploaded` becomes "SFTP file uploaded". */
function wordsOf(name: string): string {
  return name
    .replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    .replace(/\b(sftp|ssh|tls|zip|utf8)\b/g, (word) => word.toUpperCase());
}

/** `GET /api/events/catalogue`. */
export function listEventKinds(c: ConsoleContext): Response {
  return answerJson(c, kinds);
}
