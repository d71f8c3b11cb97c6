import { finding } from '../../../config/finding.ts';
import { reloadReport } from '../../../config/reload-report-schema.ts';
import { validation } from '../../../config/validation.ts';
import { described, incomplete, jsonResponse, list, type OpenapiPart, object, response, schema, text } from './parts.ts';

const nullableText = { ...text, nullable: true };

/** For a file that cannot be read. */
const fileRefusals = { 400: response('BadRequest') };

const report = described(reloadReport);
const ofNode = object({
  node: text,
  uuid: text,
  reloaded: { type: 'boolean' },
  changes: list(text),
  ended: (report.properties as Record<string, unknown>).ended,
  reason: { ...nullableText, description: 'Why it was refused, or is not known to be done.' },
});
/** The report of the node that was asked, with what came of it at each. */
const reload = {
  ...report,
  required: [...(report.required as string[]), 'nodes', 'incomplete'],
  properties: {
    ...(report.properties as Record<string, unknown>),
    nodes: { ...list(ofNode), description: 'The node that was asked first.' },
    incomplete,
  },
};

export const configurationPart: OpenapiPart = {
  paths: {
    '/api/configuration': {
      get: {
        operationId: 'showConfiguration',
        summary: 'The configuration in force, its secrets masked.',
        description:
          'Masked are passwords, hashes, keys, values of headers, user names and queries in URLs, and all that comes from a variable or a file.',
        responses: {
          200: jsonResponse('The options in force, defaults included; no file without one.', schema('Configuration')),
        },
      },
    },
    '/api/configuration/findings': {
      get: {
        operationId: 'showFindings',
        summary: 'What is wrong with the file as it stands now, as `svc validate --json` tells it; nothing without a file.',
        responses: { 200: jsonResponse('The findings.', schema('Validation')), ...fileRefusals },
      },
    },
    '/api/configuration/changes': {
      get: {
        operationId: 'showChanges',
        summary: 'What a reload would change, at most 100 options.',
        responses: { 200: jsonResponse('The options that differ, secrets masked.', schema('Changes')), ...fileRefusals },
      },
    },
    '/api/configuration/reload': {
      post: {
        operationId: 'reloadConfiguration',
        summary: 'Have each node take its file over as it stands now, all or nothing, as `svc reload --json`.',
        responses: {
          200: jsonResponse('What came of it; a file that is refused changes nothing at its node.', schema('Reload')),
        },
      },
    },
  },
  schemas: {
    Configuration: object({ file: nullableText, configuration: { type: 'object' } }),
    Validation: described(validation.extend({ file: validation.shape.file.nullable().describe('Null for a server without a file.') })),
    Changes: object({
      would_reload: { type: 'boolean' },
      reason: { ...nullableText, description: 'Why it would be refused.' },
      changes: list({
        type: 'object',
        additionalProperties: false,
        required: ['path'],
        properties: {
          path: text,
          old: { description: 'Left out where there is none.' },
          new: { description: 'Left out where there is none.' },
        },
      }),
      findings: list(described(finding)),
    }),
    Reload: reload,
  },
};
