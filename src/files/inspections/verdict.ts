import type { Failure, Fault } from '../../lib/remote/remote-endpoint.ts';

/**
 * The verdict of an inspection. It is `failure` if the inspection gave no usable answer, and `larger` if the file is larger than
 * `maximum_size` or than clamd's own limit.
 */
export type VerdictKind = 'accept' | 'refuse' | 'hold' | 'failure' | 'larger';

/** The answer of one inspection. */
export interface Answer {
  verdict: VerdictKind;
  /** The reason in `message` as a code. */
  fault?: Fault | undefined;
  /** Text for people: the name of a signature, the message of the endpoint, or the reason of a failure. */
  message?: string | undefined;
  /** The body of a refusal. It is only for the journal. */
  response?: unknown;
  /** The part of `response` that clients see if `public_error` allows that. */
  shown?: { message?: string; public_response?: unknown } | undefined;
}

/** The recorded answer of an inspection. */
export interface Verdict extends Answer {
  /** UUID of the inspection. */
  inspection: string;
  /** The result of the verdict after `on_failure` and `on_larger` were applied. */
  effect: 'accept' | 'refuse' | 'hold';
  /** Unix time in milliseconds. */
  timeMs: number;
}

export type HoldReason = 'verdict' | 'failure' | 'larger' | 'late';

/** The inspections that an upload went through, and the name that they saw. */
export interface Judged {
  uuids: ReadonlySet<string>;
  name: string;
}

/** The combined verdict of all inspections of a file. Refuse overrides hold, and hold overrides accept. */
export type Judgement =
  | { outcome: 'accept'; verdicts: readonly Verdict[] }
  | { outcome: 'refuse'; by: Verdict; verdicts: readonly Verdict[] }
  | {
      outcome: 'hold';
      reason: HoldReason;
      verdicts: readonly Verdict[];
      /**
       * If inspections are still running, a promise of the final judgement; undefined if all have ended. The promise never rejects. If the
       * inspections are stopped, it resolves with undefined.
       */
      rest?: Promise<Judgement | undefined>;
    };

/** Combines the verdicts of all inspections. */
export function judge(verdicts: readonly Verdict[]): Judgement {
  const by = verdicts.find(({ effect }) => effect === 'refuse');
  if (by) return { outcome: 'refuse', by, verdicts };
  const held = verdicts.filter(({ effect }) => effect === 'hold');
  if (held.length === 0) return { outcome: 'accept', verdicts };
  const kinds = ['hold', 'failure', 'larger'] as const;
  const kind = kinds.find((one) => held.some(({ verdict }) => verdict === one));
  return { outcome: 'hold', reason: kind === 'failure' || kind === 'larger' ? kind : 'verdict', verdicts };
}

/** Sends files to one inspection. */
export interface Inspector {
  /** Rejects only with the signal's reason. */
  inspect(content: InspectedContent, signal: AbortSignal): Promise<Answer>;
  /** Tests the inspection. @returns the reason why it does not work; undefined if it works */
  test(): Promise<Failure | undefined>;
  close(): void;
}

/** A file to be inspected. */
export interface InspectedContent {
  sizeBytes: number;
  mediaType: string;
  /** Real path of the hidden file. */
  realPath: () => string;
  /** Chunks from the beginning of the file. Each is valid only until the next chunk is read. */
  chunks(): AsyncIterable<Buffer>;
  sha256(): Promise<Buffer>;
  /** The facts in a request of `type: http`, except for the digest and the facts about the inspection. */
  facts: FileFacts;
}

/** Facts of a file in a request (docs/spec/inspections.md#request). */
export interface FileFacts {
  file: {
    path: string;
    name: string;
    modified: number;
    metadata: Readonly<Record<string, readonly string[]>>;
    replaces: boolean;
  };
  account: { username: string; uuid: string; group: string };
  client: { address: string };
  creator: { uuid: string; type: string };
  server: { uuid: string; name: string };
}
