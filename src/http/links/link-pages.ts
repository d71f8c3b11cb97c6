import type { Entry } from '../../files/entry.ts';
import { bdi, type Html, html, icon } from '../../lib/html.ts';
import { fileIconClasses, inlineKind, mediaTypeByName } from '../../lib/media-types.ts';
import { factsHtml } from '../html/account-page.ts';
import { makePageContext, pageReply } from '../html/page-replies.ts';
import { assetPaths } from '../html/pages/assets.ts';
import { tools } from '../html/pages/listing/listing-tools.ts';
import { type PageContext, phraseWithTime } from '../html/pages/page.ts';
import { type Reply, uncached } from '../reply/reply.ts';
import { type Exchange, signedIn, type Visit } from '../request/exchange.ts';

/** Renders what a visitor reads about a link. @param more the button that downloads everything @param size the size of a single file */
export function aboutLink({ language }: PageContext, { link }: Visit, more: Html | false = false, size: string | false = false): Html {
  const isDrop = link.link?.kind === 'drop';
  const { maximumDownloads } = link.link ?? {};
  const left = maximumDownloads !== undefined && Math.max(0, maximumDownloads - (link.downloads ?? 0));
  const until = phraseWithTime({ language }, isDrop ? 'openUntil' : 'availableUntil', link.expiresMs);
  return html`<link rel="stylesheet" href="${assetPaths.linkStyle}"><div class="about">
${!isDrop && html`<p>${factsHtml([size, language.text('sender', { name: link.account.name })])}</p>`}
${link.name !== '' && html`<blockquote dir="auto">${link.name}</blockquote>`}
${more}
<p class="hint">${factsHtml([until, left !== false && html`<span data-left="${left}">${language.text('downloadsLeft', { count: left })}</span>`])}</p>
</div>`;
}

/**
 * Renders the page of a link to one file, with a button for the download, and with a preview if the link has no download limit. Texts,
 * drawings, PDF documents and archives have a button for the preview. Without scripts, this button shows what the browser may show.
 */
export function filePage(exchange: Exchange, visit: Visit, entry: Entry): Reply {
  const context = makePageContext(exchange);
  const { language } = context;
  const { name, sizeBytes } = entry;
  const url = `./${encodeURIComponent(name)}`;
  const mayPreview = visit.link.link?.maximumDownloads === undefined;
  const looks = fileIconClasses(name);
  const hasViewer = mayPreview && (/^(text|pdf|zip)\b/.test(looks) || isDrawing.test(name));
  const isInline = inlineKind(mediaTypeByName(name)) !== undefined;
  const opener = html` <a class="button${!isInline && ' scripted'}" href="${url}?inline" data-viewer>${icon('eye')}${language.text('preview')}</a>`;
  const buttons = html`<p class="row"><a class="button primary" href="${url}" download>${icon('download')}${language.text('download')}</a>${hasViewer && opener}</p>`;
  const body = html`<div id="notices" aria-live="polite"></div>
<main class="card roomy" id="main" data-may="${hasViewer && 'read'}">
<h1><span class="i ${looks}">${bdi(name)}</span></h1>
<div id="members" tabindex="-1">${aboutLink(context, visit, buttons, language.size(sizeBytes))}
${mayPreview && preview(name, `${url}?inline`)}${hasViewer && listOfOne(name, looks, url)}</div>
</main>`;
  return pageReply(context, 200, { title: name, body, hasScript: true });
}

/** Renders a hidden list with only one file, from which the script opens its viewer. */
function listOfOne(name: string, looks: string, url: string): Html {
  return html`<table id="list" hidden><tbody><tr><td><input type="checkbox" value="${name}"></td><td><a class="i ${looks}" href="${url}">${bdi(name)}</a></td></tr></tbody></table>
<div id="actions" hidden></div>`;
}

/** Matches the names of files that only the viewer shows as pictures, without their scripts. */
const isDrawing = /\.svg$/i;

/** Renders the button that downloads the whole folder as one archive. */
export function downloadAll({ language }: PageContext): Html {
  return html`<p><a class="button primary" href="?zip" download>${icon('download')}${language.text('downloadAll')}</a></p>`;
}

/** Renders the page of a link that is for uploads. It shows no existing files. */
export function dropPage(exchange: Exchange, visit: Visit): Reply {
  const context = makePageContext(exchange);
  const { language } = context;
  const { name } = visit.link.account;
  const model = {
    path: visit.root,
    mayLook: false,
    mayWrite: true,
    // If the name of an upload is taken, the service adds a number to the name. So the page need not ask the visitor.
    mayReplace: true,
    onNameTaken: 'number',
    retainDays: 0,
    mayCreateFolder: false,
    metadata: exchange.service.options.metadata_fields,
    flash: undefined,
  } as const;
  const body = html`<main id="main" data-may="write${!signedIn(exchange).account.inspections.isEmpty && ' inspected'}" data-taken="number" data-largest="${signedIn(exchange).account.fileWriteSizeBytes}">
<h1>${language.text('sendTo', { name })}</h1>
${aboutLink(context, visit)}
<div id="notices" aria-live="polite"></div>
<div id="members" tabindex="-1">
<div class="empty">${icon('upload')}<p class="lead scripted mouse">${language.text('dropHere')}</p>
${tools(context, model)}
<p class="hint">${language.text('sendPrivate', { name })} <span class="scripted">${language.text('sendResumes')}</span></p></div>
</div>
</main>`;
  return pageReply(context, 200, { title: language.text('sendTo', { name }), body, hasScript: true });
}

/** Renders a preview. A preview counts as a download, so callers use it only for links without a download limit. */
function preview(name: string, url: string): Html | undefined {
  const kind = inlineKind(mediaTypeByName(name));
  if (kind === 'image') return html`<img class="preview" src="${url}" alt="${name}" loading="lazy">`;
  if (kind === 'video') return html`<video class="preview" src="${url}" controls preload="metadata" aria-label="${name}"></video>`;
  return kind === 'audio' ? html`<audio class="preview" src="${url}" controls preload="none" aria-label="${name}"></audio>` : undefined;
}

/** Renders the page that asks for the password of a link. It reveals nothing else about the link. */
export function passwordPage(exchange: Exchange, isWrong: boolean): Reply {
  const context = makePageContext(exchange);
  const { language } = context;
  const body = html`<main class="card" id="main">
<h1>${language.text('needsPassword')}</h1>
${isWrong && html`<p class="notice error" role="alert">${language.text('passwordWrong')}</p>`}
<p class="hint">${language.text('needsPasswordHint')}</p>
<form method="post" action="${context.url}">
<label for="password">${language.text('password')}</label>
<input id="password" name="password" type="password" autocomplete="off" required autofocus>
<button type="submit" class="primary">${language.text('openLink')}</button>
</form>
</main>`;
  return pageReply(context, 401, { title: language.text('needsPassword'), body }, uncached);
}
