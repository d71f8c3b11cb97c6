import type * as z from 'zod';

/** An operation of the API. The document adds the refusals that all operations have. */
export interface Operation {
  id: string;
  summary: string;
  description?: string;
  /** Set if no login is needed. */
  isOpen?: true;
  /** Parameters of the query, all optional. */
  query?: z.ZodObject;
  body?: z.ZodType;
  /** The description of a success, and one item for each type of body: a schema if it is JSON, otherwise the media type. */
  reply: readonly [
    description: string,
    ...content: (z.ZodType | 'text/event-stream' | 'application/x-ndjson' | 'application/octet-stream')[],
  ];
  /** Default: 200 with a body, 204 without. */
  status?: number;
  /** Headers of a success. */
  headers?: readonly string[];
  /** Besides those that the document adds. */
  refusals?: readonly number[];
}
