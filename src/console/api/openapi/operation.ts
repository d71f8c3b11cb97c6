import type * as z from 'zod';

/**
 * An operation of the API. If it needs an administrator, the OpenAPI document says so, and adds the refusals that all such operations have.
 */
export interface Operation {
  id: string;
  summary: string;
  description?: string;
  /** Set if the operation can be used without a login. */
  isOpen?: true;
  /** The parameters of the query. None of them is required. */
  query?: z.ZodObject;
  body?: z.ZodType;
  /**
   * The description of a success. One item follows for each type of body: a schema if it is JSON, otherwise the media type. If no item
   * follows, the reply has no body.
   */
  reply: readonly [
    description: string,
    ...content: (z.ZodType | 'text/event-stream' | 'application/x-ndjson' | 'application/octet-stream')[],
  ];
  /** Status of a success. Default: 200 with a body, 204 without. */
  status?: number;
  /** Names of the headers of a success. */
  headers?: readonly string[];
  /** Statuses of refusals, besides those that the document adds. */
  refusals?: readonly number[];
}
