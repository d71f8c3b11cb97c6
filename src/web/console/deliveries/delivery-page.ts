import type { AttemptView, OpenedDelivery } from '../../../console/api/schemas/deliveries.ts';
import { make } from '../../shared/dom.ts';
import { durationText, formatTag, sizeText } from '../../shared/locale.ts';
import { namedEvent } from '../event-kinds.ts';
import { accountPageLink, conditionLink } from '../events/event-table.ts';
import { copyButton } from '../fields.ts';
import { faultText, findHandlers, handlerName, handlerText } from '../handler-names.ts';
import { text, translate } from '../language.ts';
import { replayButton } from '../replay-button.ts';
import { ask } from '../request.ts';
import { hashFor } from '../route.ts';
import { badge, facts, heading, outcomeBadge, panel, type Stage, wayTo } from '../section.ts';
import { datum, timeElement } from '../shown.ts';
import { makeTable } from '../table.ts';
import { bodySource } from '../values.ts';

/** The request as it was recorded; parts that were not recorded come from the current configuration. */
type Sending = OpenedDelivery['request'];

/** Shows a delivery with its attempts, the request and the reply. */
export async function showDelivery({ main, route: { id }, signal }: Stage): Promise<void> {
  const [delivery] = await Promise.all([
    ask<OpenedDelivery>('GET', `/api/deliveries/${encodeURIComponent(id)}`, { signal }),
    findHandlers(signal),
  ]);
  const links = delivery.events.map((event) =>
    make(
      'li',
      namedEvent(event.id),
      ' ',
      make('a', { href: hashFor('events', event.uuid, { at: delivery.time }) }, datum(event.uuid, 'code')),
    ),
  );
  const isToldByAttempt = delivery.details === delivery.attempts.at(-1)?.error;
  main.replaceChildren(
    wayTo('deliveries'),
    heading(
      handlerText('deliveryTo', { name: handlerName(delivery.handler) }),
      replayButton(text('replay'), () => ({ deliveries: [delivery.id] }), delivery.outcome === 'failed' ? 'primary' : ''),
    ),
    panel(
      text('summary'),
      facts(
        [text('outcome'), outcomeBadge(delivery.outcome)],
        [text('time'), timeElement(delivery.time)],
        [text('handler'), make('a', { href: hashFor('handlers', '', { show: delivery.handler }) }, datum(handlerName(delivery.handler)))],
        [text('source'), translate('source', delivery.source)],
        [text('details'), delivery.details && !isToldByAttempt ? datum(faultText(delivery.fault, delivery.details)) : undefined],
        ...fileFacts(delivery),
        ...eventFacts(delivery),
      ),
    ),
    panel(text('reply'), receivedMessage(delivery)),
    panel(text('events'), make('ul.plain-list', ...links)),
    ...(delivery.attempts.length > 0 ? [panel(text('attempts'), attemptTable(delivery.attempts, delivery.request))] : []),
    panel(text('request'), delivery.attempts.length > 0 && make('div.row', copyAsCurl(delivery.request)), sentMessage(delivery)),
  );
}

/** Lists the file and the account of the first event. A forwarded file is already listed by `fileFacts`. */
function eventFacts({ first_event, file }: OpenedDelivery): (readonly [string, HTMLElement | undefined])[] {
  if (!first_event) return [];
  const { path } = first_event.data;
  const everything = new URLSearchParams();
  return [
    [text('file'), file || typeof path !== 'string' ? undefined : conditionLink('path', path, everything)],
    [text('account'), accountPageLink(first_event)],
  ];
}

/** Lists information about the file that a handler of type `forward` sent. */
function fileFacts({ file }: OpenedDelivery): (readonly [string, HTMLElement | undefined])[] {
  if (!file) return [];
  const { path, size, digest, after } = file;
  return [
    [text('file'), make('span', datum(path), ` ${sizeText(size)}`)],
    ['SHA-256', datum(digest, 'code')],
    [handlerText('fileStayed'), after === undefined ? undefined : datum(after)],
  ];
}

/** Builds a button that copies the request as a curl command. Secrets are masked, as on the page. */
function copyAsCurl(sending: Sending): HTMLElement {
  return copyButton(handlerText('copyCurl'), () => curlCommand(sending), handlerText('curlCopied'));
}

/** Quotes a text as one argument of a POSIX shell. */
function quoted(argument: string): string {
  return `'${argument.replaceAll("'", `'\\''`)}'`;
}

function curlCommand({ method, url, headers, body }: Sending): string {
  const lines = [`curl -X ${quoted(method)} ${quoted(url)}`];
  // curl computes the length of the body itself.
  for (const [name, value] of Object.entries(headers.values))
    if (name.toLowerCase() !== 'content-length') lines.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (body && body.text !== '') lines.push(`--data-raw ${quoted(body.text)}`);
  return lines.join(' \\\n  ');
}

/** Lists the attempts, the oldest first. */
function attemptTable(attempts: readonly AttemptView[], { method }: Sending): HTMLElement {
  const table = makeTable<AttemptView>(
    text('attempts'),
    handlerText('noReply'),
    [
      { title: text('time'), cell: ({ time }) => timeElement(time), className: 'narrow' },
      { title: text('request'), cell: ({ url }) => make('span', badge(method), ' ', datum(url, 'code')), className: 'whole' },
      { title: text('reply'), cell: attemptReply, className: 'whole' },
      { title: handlerText('duration'), cell: ({ duration_ms }) => millisecondsText(duration_ms), className: 'number' },
    ],
    ({ time }) => time,
  );
  table.show(attempts);
  return table.element;
}

/** Shows the status of the reply, or that there was none, and why the attempt failed. */
function attemptReply({ status, reason, error, fault }: AttemptView): HTMLElement {
  const state = badge(status === undefined ? handlerText('noReply') : String(status), error === undefined ? 'good' : 'bad');
  const words = [reason, error === `${status} ${reason}` ? undefined : faultText(fault, error ?? '')].filter(Boolean);
  return make('span', state, ' ', words.length > 0 && datum(words.join('; ')));
}

function sentMessage({ request: { headers, body }, attempts }: OpenedDelivery): HTMLElement {
  const isSent = attempts.length > 0;
  const origin = headers.from === 'configuration' && body?.from !== 'configuration' ? 'headersOfToday' : 'requestOfToday';
  const isMade = headers.from === 'configuration' || body?.from === 'configuration';
  return message(
    isSent ? handlerText('sentRequest') : '',
    Object.entries(headers.values),
    body?.text ?? '',
    body?.is_truncated === true,
    isSent ? (isMade ? handlerText(origin) : undefined) : handlerText('notSent'),
  );
}

function receivedMessage({ reply, attempts }: OpenedDelivery): HTMLElement {
  const wasAnswered = attempts.at(-1)?.status !== undefined;
  if (!reply) return make('p.nothing', handlerText(wasAnswered ? 'replyNotKept' : 'noReply'));
  return message(handlerText('receivedReplyWith', { status: String(reply.status) }), reply.headers, reply.body, reply.is_truncated);
}

function message(
  title: string,
  headers: readonly (readonly [string, string])[],
  body: string,
  isTruncated: boolean,
  hint?: string,
): HTMLElement {
  const lines = headers.map(([name, value]) => make('div', make('dt', datum(name)), make('dd', datum(value, 'code'))));
  return make(
    'div.message',
    title !== '' && make('h3', title),
    hint !== undefined && make('p.hint', hint),
    body === '' ? make('p.nothing', handlerText('noBody')) : bodySource(body, handlerText('bodyOf', { title: title || text('request') })),
    isTruncated && make('p.hint', handlerText('truncated')),
    lines.length > 0 && make('dl.headers', ...lines),
  );
}

function millisecondsText(durationMs: number): string {
  if (durationMs >= 10_000) return durationText(durationMs / 1000);
  return new Intl.NumberFormat(formatTag, { style: 'unit', unit: 'millisecond', unitDisplay: 'short', maximumFractionDigits: 0 }).format(
    durationMs,
  );
}
