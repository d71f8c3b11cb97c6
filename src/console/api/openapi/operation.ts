import type * as z from 'zod';

/** An operation at a path. If the operation is not open, the document adds the common refusals, and that it needs an administrator. */
export interface Operation {
  id: string;
  summary: string;
  description?: string;
  /** Whether the operation needs no administrator. */
  isOpen?: true;
  /** The parameters of the query. None of them is required. */
  query?: z.ZodObject;
  body?: z.ZodType;
  /** The description of a success, then an item for each type of body: a schema for JSON, else the media type. No item means no body. */
  reply: readonly [
    description: string,
    ...content: (z.ZodType | 'text/event-stream' | 'application/x-ndjson' | 'application/octet-stream')[],
  ];
  /** Status of a success. Default: 200 with a body, 204 without. */
  status?: number;
  /** Names of the headers of a success. */
  headers?: readonly string[];
  /** Statuses of refusals that only this operation has. */
  refusals?: readonly number[];
}
