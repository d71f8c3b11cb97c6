import type * as z from 'zod';

/** An operation at a path. Unless it is open, the document adds that it is for administrators, and the common refusals. */
export interface Operation {
  id: string;
  summary: string;
  description?: string;
  /** For everybody. */
  isOpen?: true;
  /** Parameters, none of them required. */
  query?: z.ZodObject;
  body?: z.ZodType;
  /** Description of a success, and the schema of its JSON or the type of another body; without either there is no body. */
  reply: readonly [
    description: string,
    ...content: (z.ZodType | 'text/event-stream' | 'application/x-ndjson' | 'application/octet-stream')[],
  ];
  /** Status of a success, if it is neither 200 nor, without a body, 204. */
  status?: number;
  /** Names of the headers of a success. */
  headers?: readonly string[];
  /** Statuses of refusals of its own. */
  refusals?: readonly number[];
}
