import * as z from 'zod';
import { type FindingCode, findingCodes } from './finding-codes.ts';

/** One problem of a configuration; names are those of `--json`. */
export const finding = z
  .strictObject({
    severity: z.enum(['error', 'warning']),
    code: z
      .enum(Object.keys(findingCodes) as [FindingCode, ...FindingCode[]])
      .describe('Stable; docs/reference/findings.md says what each means.'),
    file: z.string(),
    line: z.int().describe('From 1; 0 when the problem has no place.'),
    column: z.int().describe('From 1; 0 when the problem has no place.'),
    path: z.string().describe('Path of the option, for example services.web.port.'),
    message: z.string(),
    hint: z.string().exactOptional(),
  })
  .describe('One problem of a configuration.');

export type Finding = z.infer<typeof finding>;
