import * as z from 'zod';
import { finding, reloadReport } from '../../../config/report-shapes.ts';
import { text } from '../../../control/shown-node.ts';
import { incomplete } from './overview.ts';

/** The reply to `GET /api/configuration`: the current options, with masked secrets. */
export const runningConfiguration = z.object({
  file: text.nullable(),
  configuration: z.record(text, z.unknown()),
  set: z.record(text, z.unknown()).nullable().describe('The options that the file sets, without defaults; null without a file.'),
});
export type RunningConfiguration = z.infer<typeof runningConfiguration>;

/** The reply to `GET /api/configuration/changes`: the options that a reload would change. */
export const changes = z.object({
  would_reload: z.boolean(),
  reason: text.nullable().describe('Reason why a reload would be refused; null if it would not.'),
  changes: z.array(
    z.object({
      path: text,
      old: z.unknown().exactOptional().describe('Running value; absent if the option has none.'),
      new: z.unknown().exactOptional().describe('Value after a reload; absent if the option has none.'),
    }),
  ),
  findings: z.array(finding),
});
export type Changes = z.infer<typeof changes>;

const { ended, changes: changed } = reloadReport.shape;

const nodeReload = z.object({
  node: text,
  uuid: text,
  reloaded: z.boolean(),
  changes: changed,
  ended,
  reason: text.nullable().describe('Reason why the reload was refused, or why its result is unknown.'),
});
export type NodeReload = z.infer<typeof nodeReload>;

/** The reply to `POST /api/configuration/reload`: the result at the node that received the request, and at every node. */
export const reloadOfAll = z.object({
  ...reloadReport.shape,
  nodes: z.array(nodeReload).describe('All nodes; first the node that answered this request.'),
  incomplete,
});
export type ReloadOfAll = z.infer<typeof reloadOfAll>;
