import * as z from 'zod';
import { isObject, parseJson } from '../lib/json.ts';
import { expressionText, integer, number, optionalText, requestHeaderLines, textList, urlList } from '../lib/option-types.ts';
import { commonOptions, retryOptions } from './common-options.ts';
import { forwardOptions } from './forward/options.ts';

const signingSecrets = z.union([textList(), z.null().transform((): string[] => [])]).superRefine((secrets, context) => {
  // The message must not contain the secret.
  for (const [index, secret] of secrets.entries()) {
    if (secret.startsWith('whsec_') && !/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(secret))
      context.addIssue({ code: 'custom', message: `secret ${index + 1}: what follows "whsec_" must be base64` });
  }
});

const httpHandlerOptions = () =>
  z
    .strictObject({
      type: z.literal('http').describe('Sends events to URLs.'),
      ...commonOptions,
      url: urlList().describe('URL that receives the events. If there are several URLs and one fails, the next one is tried.'),
      request_method: z
        .string()
        .toLowerCase()
        .pipe(z.enum(['post', 'put', 'get'], { error: 'must be post, put or get' }))
        .default('post')
        .describe('Request method: post, put or get.'),
      http_content_type: z
        .enum(['json', 'xml', 'soap', 'cloudevents', 'custom'], { error: 'must be json, xml, soap, cloudevents or custom' })
        .default('json')
        .describe(
          'Format of the body: json, xml (SOAP 1.2; soap means the same), cloudevents (1.0, structured; batched with a `batch_size` above 1), or custom with `extra_data` as its template.',
        ),
      cloudevents_type_prefix: z
        .string()
        .min(1, 'must not be empty')
        .default('svc.event')
        .describe(
          'Beginning of the `type` of CloudEvents; a dot and the event ID follow. Recommended: your domain in reverse, such as `com.example`.',
        ),
      headers: requestHeaderLines().default([]).describe('Headers sent with every request, `Name: value`.'),
      username: optionalText().default('').describe('User name for HTTP Basic.'),
      password: optionalText().default('').describe('Password for HTTP Basic.'),
      timeout: number(0.1, 3600).default(120).describe('Longest time for one request with its whole reply, in seconds.'),
      ca_certificates_path: optionalText()
        .default('')
        .describe('PEM file of certificate authorities to trust in addition to those of the system.'),
      expected_response: z
        .union([z.literal(''), z.null().transform(() => ''), expressionText()])
        .default('')
        .describe('Expression that the body of a 2xx reply must match.'),
      ...retryOptions,
      extra_data: z
        .union([z.record(z.string(), z.unknown()), z.string(), z.null().transform(() => ({}))], { error: 'must be a map, or a text' })
        .default({})
        .describe('Members added to the body, with template variables; for `custom` the body itself.'),
      batch_size: integer(1, 10_000).default(1).describe('Maximum events in one request.'),
      signing_secret: signingSecrets
        .default([])
        .describe('Secret for Standard Webhooks signatures (`whsec_` and base64); several during a change of secrets.'),
    })
    .describe('A webhook.')
    .transform((options, context) => {
      const issue = (member: string, message: string) => context.addIssue({ code: 'custom', path: [member], message });
      const ours = options.headers.find(([name]) => /^webhook-(id|timestamp|signature)$/i.test(name));
      if (ours && options.signing_secret.length > 0)
        issue('headers', `"${ours[0]}" is set when requests are signed; remove it here, or remove signing_secret`);
      const { extra_data } = options;
      if (options.http_content_type === 'cloudevents' && !isEmptyExtra(extra_data))
        issue('extra_data', 'must be empty when http_content_type is cloudevents: a CloudEvent has no room for it');
      if (options.http_content_type !== 'custom') return { ...options, custom_body: '', extra_data: parseExtraData(extra_data, context) };
      if (typeof extra_data !== 'string') issue('extra_data', 'must be the text of the body template when http_content_type is custom');
      return { ...options, custom_body: typeof extra_data === 'string' ? extra_data : '', extra_data: {} as Record<string, unknown> };
    });

/**
 * An entry of `event_handlers`. The schema is created only when it is needed, because it makes up an eighth of all schemas, and most
 * configurations have no handlers.
 */
export const eventHandlerOptions = z.lazy(() =>
  z.discriminatedUnion('type', [httpHandlerOptions(), forwardOptions()], { error: 'must have a "type": http or forward' }),
);

export type EventHandlerOptions = z.infer<typeof eventHandlerOptions>;

function isEmptyExtra(value: string | Record<string, unknown>): boolean {
  return typeof value === 'string' ? value.trim() === '' : Object.keys(value).length === 0;
}

function parseExtraData(value: string | Record<string, unknown>, context: z.core.$RefinementCtx): Record<string, unknown> {
  const issue = (message: string) => context.addIssue({ code: 'custom', path: ['extra_data'], message });
  let members = value;
  if (typeof members === 'string') {
    if (members.trim() === '') return {};
    try {
      members = parseJson(members) as Record<string, unknown>;
    } catch (error) {
      issue(`is not usable as JSON: ${(error as Error).message}`);
      return {};
    }
    if (!isObject(members)) {
      issue('must be a JSON object');
      return {};
    }
  }
  for (const reserved of ['events', 'server']) {
    if (Object.hasOwn(members, reserved)) issue(`must not have the member "${reserved}", because the body always has it`);
  }
  return members;
}
