import * as z from 'zod';
import { reloadReport } from '../../config/report-shapes.ts';
import { count, counts, failure, method, replay, service, text, time, transfer } from '../../control/shown-node.ts';
import { errorCodes } from '../../lib/errors.ts';
import { parseJson } from '../../lib/json.ts';

/*
 * Messages between nodes. They are not trusted, because any program with access to Redis can have written them. Unknown members are
 * omitted, so that nodes of a newer version are understood.
 */

/** Maximum size of a report, and of a question or answer, in bytes. */
export const maxReportBytes = 256 * 1024;
export const maxMessageBytes = 8 * 1024 * 1024;

/** A box with questions to a node, or with answers to a question. */
export type MessageBox = readonly [kind: 'node-questions' | 'node-answers', of: string];

/** Exchanges messages between nodes. Methods throw ServiceError `unavailable` if Redis cannot be reached. Implemented in state/redis. */
export interface NodeTexts {
  /** Reason why nothing can be exchanged now; empty if messages can be exchanged. */
  readonly silence: string;
  /** Replaces the report of a node. */
  tell(node: string, report: string): Promise<void>;
  /**
   * Returns the recent reports, newest first, with their age by a clock that all nodes share. A report that is too long is returned as an
   * empty text.
   */
  read(maxBytes: number): Promise<{ node: string; ageMs: number; report: string }[]>;
  /** Removes the report of a node. */
  leave(node: string): Promise<void>;
  /** Adds a message to a box, unless the box is full. */
  put(box: MessageBox, message: string, keptMs: number): Promise<void>;
  /** Takes the first message out of a box. A message that is too long is returned as an empty text. */
  take(box: MessageBox, maxBytes: number): Promise<string | undefined>;
}

const id = z.uuid();

/** The state of one node at one moment, as consoles show it. */
const nodeReport = z.object({
  name: text.min(1),
  host: text,
  version: text,
  phase: z.enum(['starting', 'ready', 'stopping']),
  /** Start time, which distinguishes a process from the previous one. */
  started: time,
  /** Counts since the start. */
  counts,
  connections: count,
  memory_bytes: count,
  services: z.array(service),
  methods: z.array(method),
  inspections: z.array(method).default([]),
  transfers: z.array(transfer),
  transfers_left_out: count,
  errors: z.array(failure.extend({ uuid: id })),
  replays: z.array(replay.extend({ id })),
});
export type NodeReport = z.infer<typeof nodeReport>;

const question = z.discriminatedUnion('kind', [
  z.object({ id, kind: z.literal('reload') }),
  z.object({ id, kind: z.literal('replay-cancel'), replay: text }),
  z.object({ id, kind: z.literal('replay-results'), replay: text }),
]);
export type Question = z.infer<typeof question>;

/** The replies by kind of question. */
const replies = { reload: reloadReport, 'replay-cancel': z.null(), 'replay-results': text };
type Replies = typeof replies;
export type Reply<Kind extends Question['kind']> = z.infer<Replies[Kind]>;

const answerHead = z.object({ node: text.max(200) });
const refusal = answerHead.extend({ refused: z.object({ code: z.enum(errorCodes), message: text }) });

/** The reply of a node, or the error with which it refused the question. */
export type Answer<Kind extends Question['kind']> =
  | { node: string; reply: Reply<Kind> }
  | { node: string; refused: { code: (typeof errorCodes)[number]; message: string } };

/** Reads the report of a node. @returns undefined if it is malformed */
export function readReport(message: string): NodeReport | undefined {
  return read(nodeReport, message);
}

/** Reads a question of another node. @returns undefined if it is malformed */
export function readQuestion(message: string): Question | undefined {
  return read(question, message);
}

/** Reads an answer to a question of the given kind. @returns undefined if it is malformed, or answers another kind of question */
export function readAnswer<Kind extends Question['kind']>(kind: Kind, message: string): Answer<Kind> | undefined {
  return read(z.union([refusal, answerHead.extend({ reply: replies[kind] })]), message) as Answer<Kind> | undefined;
}

function read<T>(schema: z.ZodType<T>, message: string): T | undefined {
  try {
    return schema.safeParse(parseJson(message)).data;
  } catch {
    return undefined;
  }
}
