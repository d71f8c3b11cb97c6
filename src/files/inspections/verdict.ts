/** The verdict of an inspection: `failure` when it gave no usable answer, `larger` when the file is too large to be sent. */
export type VerdictKind = 'accept' | 'refuse' | 'hold' | 'failure' | 'larger';

/** The answer of one inspection. */
export interface Answer {
  verdict: VerdictKind;
  /** For people: the name of a signature, what the endpoint says, or why it failed. */
  message?: string | undefined;
  /** The body of a refusal, for the journal alone. */
  response?: unknown;
  /** The part of it that clients see if `public_error` allows it. */
  shown?: { message?: string; public_response?: unknown } | undefined;
}

/** An answer with its inspection, as it is recorded. */
export interface Verdict extends Answer {
  /** UUID. */
  inspection: string;
  /** Its meaning by `on_failure` and `on_larger`. */
  effect: 'accept' | 'refuse' | 'hold';
  /** Unix time in milliseconds. */
  timeMs: number;
}

export type HoldReason = 'verdict' | 'failure' | 'larger' | 'late';

/** How inspections judged an upload: which ones, and under which name. */
export interface Judged {
  uuids: ReadonlySet<string>;
  name: string;
}

/** The combined verdict of all inspections of a file: refuse wins over hold, hold over accept. */
export type Judgement =
  | { outcome: 'accept'; verdicts: readonly Verdict[] }
  | { outcome: 'refuse'; by: Verdict; verdicts: readonly Verdict[] }
  | {
      outcome: 'hold';
      reason: HoldReason;
      verdicts: readonly Verdict[];
      /**
       * The result of the inspections that are still running; undefined when all have ended. Never rejects; resolves with undefined when
       * they were stopped.
       */
      rest?: Promise<Judgement | undefined>;
    };

/** Joins the verdicts of all inspections. */
export function judge(verdicts: readonly Verdict[]): Judgement {
  const by = verdicts.find(({ effect }) => effect === 'refuse');
  if (by) return { outcome: 'refuse', by, verdicts };
  const held = verdicts.filter(({ effect }) => effect === 'hold');
  if (held.length === 0) return { outcome: 'accept', verdicts };
  const kinds = ['hold', 'failure', 'larger'] as const;
  const kind = kinds.find((one) => held.some(({ verdict }) => verdict === one));
  return { outcome: 'hold', reason: kind === 'failure' || kind === 'larger' ? kind : 'verdict', verdicts };
}

/** The client of one inspection. */
export interface Inspector {
  /** Rejects only with the signal's reason. */
  inspect(content: InspectedContent, signal: AbortSignal): Promise<Answer>;
  /** Asks whether it works. @returns why not */
  test(): Promise<string | undefined>;
  close(): void;
}

/** A file to be inspected. */
export interface InspectedContent {
  sizeBytes: number;
  mediaType: string;
  /** The hidden file. */
  realPath: () => string;
  /** Chunks from the beginning, each valid until the next is asked for. */
  chunks(): AsyncIterable<Buffer>;
  sha256(): Promise<Buffer>;
  /** All that a request of `type: http` tells of it, but for the inspection and the digest. */
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
