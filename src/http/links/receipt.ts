import type { ServiceEvent } from '../../events/event.ts';
import { preferredType } from '../../lib/headers/accept-header.ts';
import { bdi, type Html, html } from '../../lib/html.ts';
import { baseName, type VirtualPath } from '../../lib/virtual-path.ts';
import { makePageContext, pageReply } from '../html/page-replies.ts';
import { type PageContext, phraseWithTime, timeHtml } from '../html/pages/page.ts';
import { type DroppedFile, receiptQuery } from '../reply/receipt.ts';
import { jsonReply, type Reply, uncached } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { type Exchange, header, type Visit } from '../request/exchange.ts';
import type { MemberResult } from '../rest/member-actions.ts';

/** Maximum number of files of one receipt. If there were more, some clients would truncate the URL of the receipt. */
export const maxReceiptFiles = 200;

interface ReceivedFile extends DroppedFile {
  /** Time of arrival, as Unix time in seconds with a fraction. */
  time: number;
}

/** Matches names to which a number may have been added because the name was taken. */
const numberedName = / \(\d+\)(\.[^.]*)?$/;

const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Answers GET of the receipt of files that a visitor uploaded (docs/spec/links.md#receipt), as a page, JSON or text. */
export async function showReceipt(exchange: Exchange): Promise<Response> {
  const visit = exchange.visit as Visit;
  const query = new URLSearchParams(exchange.target.query);
  const ids = [...new Set((query.get('ids') ?? '').split(',').filter((id) => uuidForm.test(id)))].slice(0, maxReceiptFiles);
  const { link } = visit;
  const wanted = { link: link.id, uuids: ids, sinceMs: link.createdMs };
  const events = ids.length === 0 ? [] : await exchange.service.droppedFiles(wanted);
  const files = events.map(receivedFile);
  switch (chooseFormat(exchange, query)) {
    case 'json':
      return respond(exchange, jsonReply(200, { receiver: link.account.name, files }, uncached));
    case 'text':
      return respond(exchange, textReply(files));
    default:
      return respond(exchange, receiptPage(exchange, files, ids, query.has('held') || files.length < ids.length));
  }
}

function chooseFormat(exchange: Exchange, query: URLSearchParams): 'html' | 'json' | 'text' {
  const asked = query.get('as');
  if (asked === 'json' || asked === 'text') return asked;
  const type = preferredType(header(exchange, 'accept'), ['text/html', 'application/json', 'text/plain']);
  return type === 'application/json' ? 'json' : type === 'text/plain' ? 'text' : 'html';
}

function receivedFile({ uuid, data, timestamp }: ServiceEvent): ReceivedFile {
  const digest = (data.digest ?? { 'sha-256': '' }) as DroppedFile['digest'];
  const target = baseName(String(data.path) as VirtualPath);
  return { target, size: Number(data.total_write), digest, event_id: uuid, time: Math.round(Number(timestamp.timestamp) * 1000) / 1000 };
}

/** Returns the digest in the form that programs such as sha256sum write. */
function hexDigest({ digest }: ReceivedFile): string {
  return Buffer.from(digest['sha-256'], 'base64').toString('hex');
}

/** Builds the receipt as text. Each file has a line with its time, size in bytes, SHA-256 and name. */
function textReply(files: readonly ReceivedFile[]): Reply {
  const lines = files.map(
    (file) => `${new Date(file.time * 1000).toISOString()}\t${file.size}\t${hexDigest(file)}\t${oneLine(file.target)}\n`,
  );
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' };
  return { status: 200, headers, body: lines.join('') };
}

function oneLine(name: string): string {
  return name.replace(/[\u0000-\u001f\u007f]/g, '\uFFFD');
}

function receiptPage(exchange: Exchange, files: readonly ReceivedFile[], ids: readonly string[], isHeld: boolean): Reply {
  const context = makePageContext(exchange);
  const { language, urlOf, linked } = context;
  const { link } = exchange.visit as Visit;
  const urlAs = (as: string) => `receipt?ids=${ids.join(',')}&as=${as}`;
  const found = html`<p class="lead">${language.text('receiptLead', { count: files.length, name: link.account.name })}</p>
<ol class="receipt">
${files.map((file) => receiptItem(context, file))}
</ol>
<p class="hint">${phraseWithTime(context, 'receiptHint', link.expiresMs)}${files.some(({ target }) => numberedName.test(target)) && html` ${language.text('receiptNumbered')}`}${isHeld && html` ${language.text('receiptHeld')}`}</p>
<p class="row"><a class="button" href="${urlAs('text')}">${language.text('asText')}</a> <a class="button" href="${urlAs('json')}">${language.text('asJson')}</a></p>`;
  const body = html`<div id="notices" aria-live="polite"></div>
<main class="card roomy" id="main">
<h1>${language.text('receipt')}</h1>
<div id="members" tabindex="-1">${files.length > 0 ? found : html`<p>${language.text(isHeld ? 'receiptHeld' : 'receiptNone')}</p>`}
<p><a class="button primary" href="${urlOf(linked?.root ?? ('/' as VirtualPath), true)}">${language.text('sendMore')}</a></p></div>
</main>`;
  return pageReply(context, 200, { title: language.text('receipt'), body, hasScript: true });
}

function receiptItem({ language }: PageContext, file: ReceivedFile): Html {
  return html`<li><strong>${bdi(file.target)}</strong>
<span class="hint">${language.size(file.size)}${file.size >= 1000 && html` (${language.bytes(file.size)})`} &middot; ${language.text('arrived')} ${timeHtml({ language }, file.time * 1000, true)}</span>
<span class="hint">${language.text('checksum')} <code>${hexDigest(file)}</code></span></li>
`;
}

/** Builds the reply to a form if all its files were stored or held: a redirect to the receipt. */
export function droppedPageReply(exchange: Exchange, results: readonly MemberResult[]): Reply {
  const visit = exchange.visit as Visit;
  const files = results.flatMap(({ dropped }) => dropped ?? []).slice(0, maxReceiptFiles);
  const held = results.some((result) => result.held) ? '&held' : '';
  const location = exchange.urlOf(visit.root, true) + receiptQuery(files) + held;
  return { status: 303, headers: { location, 'cache-control': 'no-store' } };
}
