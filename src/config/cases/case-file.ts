import * as z from 'zod';
import { credentialKinds, credentialTypes } from '../../accounts/credential-kinds.ts';
import { isEventId } from '../../events/catalogue.ts';
import { ServiceError } from '../../lib/errors.ts';
import { isObject } from '../../lib/json.ts';
import { number } from '../../lib/option-types.ts';
import { readPlainYaml } from '../../lib/yaml-document.ts';
import { mockedVerdicts } from './inspected.ts';

const common = {
  name: z.string().min(1).optional(),
  /** File with the whole expected outcome. Its path is relative to the case file. */
  golden: z.string().min(1).optional(),
};
const textOrList = z.union([z.string().transform((text) => [text]), z.array(z.string())]);

/** Tests whether an account may send a request. */
const requestCase = z.strictObject({
  ...common,
  request: z.string().regex(/^(LOGIN|[A-Za-z-]+ \/.*)$/, 'must be "METHOD /home/…", an SFTP request with its path, or LOGIN'),
  account: z.string().min(1),
  group: z.string().optional(),
  destination: z.string().optional(),
  /** UUID of the ssh service. Used only for LOGIN. */
  service: z.string().optional(),
  /** The kinds of credentials that the client presents, in this order. Used only for LOGIN. */
  credentials: z.array(z.enum(credentialKinds)).optional(),
  /** The expected inspections of the file, in any order. */
  inspections: z.array(z.string()).optional(),
  /** Simulated verdicts by UUID of the inspection. An inspection that is not listed accepts the file. */
  verdicts: z.record(z.string(), z.enum(mockedVerdicts, { error: `must be one of ${mockedVerdicts.join(', ')}` })).optional(),
  expect: z.enum(['allowed', 'refused', 'held'], { error: 'must be allowed, refused or held' }).optional(),
  /** The expected HTTP or SFTP status. */
  status: number(0, 599).optional(),
  /** The set of permissions that is expected to decide: `general`, or the expression of a rule. */
  rule: z.string().optional(),
  real_path: z.string().optional(),
  /** Text that must be part of the reason for the refusal. */
  reason: z.string().optional(),
});

const expectedRequest = z.strictObject({
  url: textOrList.optional(),
  method: z.string().optional(),
  content_type: z.string().optional(),
  /** The expected body: its whole text, or a map of members that its JSON must have, or a list that must match its JSON item by item. */
  body: z.unknown().optional(),
});

/** Tests which handlers an event reaches, and which requests they send. */
const eventCase = z.strictObject({
  ...common,
  event: z.union([z.number(), z.string().transform(Number)]).refine(isEventId, 'must be an event ID; "svc events --catalogue" lists them'),
  data: z.record(z.string(), z.unknown()).default({}),
  account: z.string().min(1).optional(),
  group: z.string().optional(),
  component: z.string().optional(),
  address: z.string().default('192.0.2.1'),
  handlers: z
    .union([z.array(z.string()), z.record(z.string(), expectedRequest)], { error: 'must be a list, or a map, of handlers' })
    .optional(),
});

/** Tests the effect of a reply of the authentication endpoint. */
const replyCase = z.strictObject({
  ...common,
  reply: z.strictObject({ status: number(100, 999), body: z.unknown().optional() }),
  account: z.string().min(1),
  type: z.enum(credentialTypes).default('password'),
  expect: z.enum(['authenticated', 'next', 'rejected'], { error: 'must be authenticated, next or rejected' }).optional(),
  /** Members that the account must have after the options of its group are applied. */
  effective: z.record(z.string(), z.unknown()).optional(),
  /** Text that must be part of the reason. */
  reason: z.string().optional(),
});

export type RequestCase = z.infer<typeof requestCase>;
export type EventCase = z.infer<typeof eventCase>;
export type ReplyCase = z.infer<typeof replyCase>;
export type ConfigCase = RequestCase | EventCase | ReplyCase;

export interface CaseFile {
  /** Path of the configuration, relative to the case file. */
  config: string | undefined;
  /** Values of the variables `${env:…}` in the configuration. */
  env: Record<string, string>;
  cases: ConfigCase[];
}

const scalar = z.union([z.string(), z.number().transform(String), z.boolean().transform(String)]);
const wholeFile = z.strictObject({
  config: z.string().optional().describe('Path of the configuration, relative to this file.'),
  env: z.record(z.string(), scalar).optional().describe('Values for ${env:…} of the configuration.'),
  cases: z.array(z.unknown()),
});
const anyCases = z.array(z.union([requestCase, eventCase, replyCase]));

/** The schema for editors. `readCases` parses each case separately instead, so that an error message names the faulty case. */
export const casesSchema = z.union([anyCases, wholeFile.extend({ cases: anyCases })]);

const kinds = { request: requestCase, event: eventCase, reply: replyCase } as const;

/**
 * Reads a case file. It is a YAML or JSON list, or a map with `cases`, `config` and `env`.
 *
 * @param name name of the file, for error messages
 * @throws ServiceError `bad-request` with the number of the faulty case
 */
export function readCases(text: string, name: string): CaseFile {
  const refuse = (message: string): never => {
    throw new ServiceError('bad-request', `${name}: ${message}`);
  };
  let value: unknown;
  try {
    value = readPlainYaml(text);
  } catch (error) {
    return refuse((error as Error).message.split('\n', 1)[0]?.replace(/:$/, '') ?? '');
  }
  const whole = wholeFile.safeParse(Array.isArray(value) ? { cases: value } : value);
  if (!whole.success) return refuse('must be a list of cases, or a map with the members cases, config and env');
  const { config, env = {}, cases } = whole.data;
  return { config, env, cases: cases.map((item, index) => readCase(item, index + 1, refuse)) };
}

function readCase(item: unknown, number: number, refuse: (message: string) => never): ConfigCase {
  const members = isObject(item) ? item : {};
  const found = (Object.keys(kinds) as (keyof typeof kinds)[]).filter((kind) => Object.hasOwn(members, kind));
  const [kind] = found;
  if (!kind || found.length > 1) return refuse(`case ${number}: must have exactly one of request, event and reply`);
  const result = kinds[kind].safeParse(item);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  return refuse(`case ${number}: ${issue?.path.join('.') || 'case'}: ${issue?.message}`);
}
