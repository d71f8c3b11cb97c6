import type * as z from 'zod';

/** An operation at a path. Unless it is open, the document adds that it needs an administrator, and the common refusals. */
export interface Operation {
  id: string;
  summary: string;
  description?: string;
  /** Whether the operation needs no administrator. */
  isOpen?: true;
  /** The parameters of the query. None of them is required. */
  query?: z.ZodObject;
  body?: z.ZodType;
  /** The description of a success, then the schema of its JSON or the type of another body. Without that second item, there is no body. */
  reply: readonly [
    description: string,
    ...content: (z.ZodType | 'text/event-stream' | 'application/x-ndjson' | 'application/octet-stream')[],
  ];
  /** Status of a success. It is needed only if the status is neither 200 nor, without a body, 204. */
  status?: number;
  /** Names of the headers of a success. */
  headers?: readonly string[];
  /** Statuses of refusals that only this operation has. */
  refusals?: readonly number[];
}
