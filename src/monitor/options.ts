import * as z from 'zod';
import { integer, yesNo } from '../lib/option-types.ts';

/** A service of type monitor. */
export const monitorOptions = z.strictObject({
  type: z.literal('monitor').describe('Health, readiness and metrics; no files.'),
  name: z.string().default('').describe('Name shown to people and in events; default: the UUID.'),
  description: z.string().default('').describe('Free text.'),
  enabled: yesNo().default(true).describe('A disabled service is not started.'),
  address: z.string().min(1).default('127.0.0.1').describe('Address to listen on.'),
  port: integer(0, 65_535).default(9100).describe('Port to listen on; 0 = any free one.'),
});
export type MonitorOptions = z.infer<typeof monitorOptions>;
