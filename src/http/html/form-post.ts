import type { FileUpload, UploadResult } from '../../files/operations/file-upload.ts';
import { cooperatively } from '../../lib/concurrency/event-loop.ts';
import { nameInText } from '../../lib/display-name.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { bdi, escapeFormValue, Html, html, icon } from '../../lib/html.ts';
import { writeKeyValueList } from '../../lib/list-values.ts';
import { fileIconClasses } from '../../lib/media-types.ts';
import { baseName, memberPath, type VirtualPath } from '../../lib/virtual-path.ts';
import { droppedPageReply } from '../links/receipt.ts';
import { droppedFile } from '../reply/receipt.ts';
import { jsonReply, mergeHeaders, type Reply, type ReplyHeaders } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { type Exchange, signedIn } from '../request/exchange.ts';
import { bareFileName, type FormFields, type FormFile, readForm } from '../request/form-fields.ts';
import { asksForJson, replyFormat } from '../request/reply-format.ts';
import { memberUrlPath, selectedPath, serverPathValue, targetPath } from '../request/request-target.ts';
import { uploadMetadata } from '../request/upload-metadata.ts';
import { heldUrl } from '../rest/held.ts';
import {
  allowedTriggers,
  allResults,
  deleteMember,
  destinationFolder,
  eachMember,
  findTrigger,
  type MemberResult,
  memberErrorsReply,
  memberFailure,
  runTrigger,
  type TransferKind,
  transferMembers,
} from '../rest/member-actions.ts';
import { backendReplyHeaders } from '../rest/put-delete.ts';
import { checkRequestBytes } from '../rest/upload-stream.ts';
import { sendZip } from '../rest/zip-download.ts';
import { type FlashCode, flashCookieLine } from './page-cookies.ts';
import { makePageContext, messagePageReply, pageReply } from './page-replies.ts';
import type { PageContext } from './pages/page.ts';

interface MemberToDelete {
  name: string;
  /** Undefined when the member no longer exists. `sizeBytes` is undefined when the account may not see the size. */
  entry: { isFolder: boolean; sizeBytes: number | undefined } | undefined;
}

function confirmPage(context: PageContext, folder: VirtualPath, members: readonly MemberToDelete[]): Reply {
  const { language } = context;
  const there = members.filter((member) => member.entry);
  const body = html`<main class="card roomy" id="main">
<h1>${language.text('deleteQuestion', { count: there.length, name: nameInText(there[0]?.name ?? '') })}</h1>
<ul class="doomed">${members.map((member) => memberLine(context, folder, member))}</ul>
<p>${language.text(context.account?.hasTrash ? 'deleteToTrash' : 'deleteWarning', { count: there.length })}</p>
<form method="post" class="row">
<input type="hidden" name="action" value="delete-members">
${there.map(({ name }) => new Html(`<input type="hidden" name="selected-members" value="${escapeFormValue(name)}">`))}
<a class="button" href="${memberUrlPath(folder, true)}">${language.text('cancel')}</a>
${there.length > 0 && html`<button type="submit" class="primary danger">${icon('trash')}${language.text('delete')}</button>`}
</form>
</main>`;
  return pageReply(context, 200, { title: language.text('delete'), body });
}

function memberLine({ language }: PageContext, folder: VirtualPath, { name, entry }: MemberToDelete) {
  const shown = bdi(name);
  if (!entry) return html`<li><span class="name i">${shown}</span> <span class="hint">${language.text('missing')}</span></li>`;
  const about = entry.isFolder ? language.text('withContent') : entry.sizeBytes === undefined ? '' : language.size(entry.sizeBytes);
  const url = memberUrlPath(memberPath(folder, name), entry.isFolder);
  return html`<li><a class="name i ${entry.isFolder ? 'folder' : fileIconClasses(name)}" href="${url}">${shown}</a> <span class="hint">${about}</span></li>`;
}

const uploadAction = 'upload-file';

/** Maximum number of files before the field `action`. Each of them stays open until that field arrives. */
const maxKeptBack = 100;

/** Answers POST of a form to a folder (docs/spec/files.md#forms). */
export async function handleFormPost(exchange: Exchange): Promise<Response> {
  const { path: folder } = exchange;
  const receiver = new UploadReceiver(exchange, folder);
  let fields: FormFields;
  try {
    fields = await readForm(exchange, (file, before) => receiver.receive(file, before));
  } catch (error) {
    await receiver.dropAll(error);
    throw error;
  }
  const action = fields.one('action');
  if (action === uploadAction) return respond(exchange, await receiver.finish());
  await receiver.dropAll(new ServiceError('bad-request', 'The form is not an upload.'));
  if (exchange.visit && action !== 'download-members') throw new ServiceError('forbidden', 'A link does not allow this action.');
  switch (action) {
    case undefined:
      throw new ServiceError('bad-request', 'The form lacks the field "action".');
    case 'create-folder':
      return respond(exchange, await createFolder(exchange, folder, fields));
    case 'delete-members':
      return respond(exchange, await deleteMembers(exchange, folder, fields));
    case 'confirm-delete':
      return respond(exchange, await confirmDeletion(exchange, folder, fields));
    case 'move':
    case 'copy':
      return respond(exchange, await transferSelected(exchange, folder, fields, action));
    case 'download-members':
      return sendZip(exchange, await selectedMembers(exchange, folder, fields));
    default:
      return respond(exchange, await triggerMembers(exchange, folder, fields, action));
  }
}

async function selectedMembers(exchange: Exchange, folder: VirtualPath, fields: FormFields): Promise<readonly string[]> {
  const members = new Set<string>();
  for await (const name of cooperatively(fields.all('selected-members'))) members.add(nameAsStored(exchange, folder, name));
  if (members.size === 0) throw new ServiceError('nothing-selected', 'No members are selected.');
  return [...members];
}

/** Finds the name on disk. Line breaks in it can be LF or CR, but browsers send each as CR LF (HTML, "newlines in form data"). */
function nameAsStored(exchange: Exchange, folder: VirtualPath, name: string): string {
  if (!name.includes('\r\n') || name.includes('/')) return name;
  const { files } = exchange;
  const candidates = [name, name.replaceAll('\r\n', '\n'), name.replaceAll('\r\n', '\r')];
  return candidates.find((candidate) => files.inspect(targetPath(folder, candidate)) !== undefined) ?? name;
}

async function confirmDeletion(exchange: Exchange, folder: VirtualPath, fields: FormFields): Promise<Reply> {
  const { files } = exchange;
  const members: MemberToDelete[] = [];
  for await (const name of cooperatively(await selectedMembers(exchange, folder, fields))) {
    const path = targetPath(folder, name);
    const entry = files.inspect(path, 'confirmDeletion');
    members.push({ name, entry: entry && { isFolder: entry.isFolder, sizeBytes: files.isVisible(path) ? entry.sizeBytes : undefined } });
  }
  return confirmPage(makePageContext(exchange), folder, members);
}

async function createFolder(exchange: Exchange, folder: VirtualPath, fields: FormFields): Promise<Reply> {
  const name = fields.one('new-folder')?.trim();
  if (!name) throw new ServiceError('bad-request', 'The form lacks the field "new-folder".');
  await exchange.files.createFolder(targetPath(folder, name));
  return replyTo(exchange, folder, 'created', [{ target: name, problem: undefined, status: 201 }]);
}

async function deleteMembers(exchange: Exchange, folder: VirtualPath, fields: FormFields): Promise<Reply> {
  const { files } = exchange;
  const results = eachMember(folder, await selectedMembers(exchange, folder, fields), (path) => deleteMember(files, path));
  return replyTo(exchange, folder, 'deleted', await allResults(results));
}

async function transferSelected(exchange: Exchange, folder: VirtualPath, fields: FormFields, kind: TransferKind): Promise<Reply> {
  const { files } = exchange;
  const destination = fields.one('destination');
  if (!destination) throw new ServiceError('bad-request', 'The form lacks the field "destination".');
  const transfer = { kind, destination: destinationFolder(folder, destination), overwrite: fields.one('overwrite') === 'true' };
  const results = transferMembers(files, folder, await selectedMembers(exchange, folder, fields), transfer);
  return replyTo(exchange, folder, kind === 'move' ? 'moved' : 'copied', await allResults(results));
}

async function triggerMembers(exchange: Exchange, folder: VirtualPath, fields: FormFields, action: string): Promise<Reply> {
  const trigger = findTrigger(exchange, action);
  if (!trigger) throw new ServiceError('bad-request', `The action "${action}" is not known.`);
  const results = runTrigger(exchange, folder, trigger, await selectedMembers(exchange, folder, fields));
  return replyTo(exchange, folder, 'triggered', await allResults(results), allowedTriggers(exchange).indexOf(trigger));
}

/**
 * Redirects to the folder with a message (303), or answers with JSON. If an action on a member failed, the reply contains the reason.
 *
 * @param trigger position of the trigger that was run, among those of the client
 */
function replyTo(exchange: Exchange, folder: VirtualPath, done: FlashCode, results: readonly MemberResult[], trigger?: number): Reply {
  const failed = results.flatMap(({ target, problem, status }) => (problem ? { target, problem, status } : []));
  const [only] = failed;
  if (only) {
    const status = results.length === 1 ? only.status : 422;
    if (replyFormat(exchange) === 'json') return memberErrorsReply(exchange, status, results);
    return messagePageReply(exchange, status, { results: failed, dropped: results.flatMap(({ dropped }) => dropped ?? []) });
  }
  const held = results.flatMap((result) => result.held ?? []);
  if (asksForJson(exchange)) {
    const items = results.map(({ target, held, dropped }) => {
      if (held) return { target: exchange.visit ? target : held.path, held: held.id };
      return dropped ?? { target };
    });
    const [first, ...others] = held;
    const headers = first && others.length === 0 && !exchange.visit ? { location: heldUrl(first.id) } : {};
    return jsonReply(first ? 202 : done === 'uploaded' ? 201 : 200, { results: items }, headers);
  }
  if (exchange.visit) return droppedPageReply(exchange, results);
  const ran = trigger === undefined ? undefined : { trigger, name: results[0]?.target ?? '' };
  const flash = held.length > 0 ? flashCookieLine('heldForReview', held.length) : flashCookieLine(done, results.length, ran);
  return { status: 303, headers: { location: memberUrlPath(folder, true), 'set-cookie': flash } };
}

/**
 * Reads the metadata of a form. The field `metadata` has the syntax of the metadata header. The fields `metadata-name` and `metadata-value`
 * form pairs; pairs with an empty value are omitted.
 */
function formMetadata(fields: FormFields): string | undefined {
  const values = fields.all('metadata-value');
  const items = fields.all('metadata-name').map((key, index) => ({ key: key.trim(), value: values[index]?.trim() ?? '' }));
  const lists = [fields.one('metadata')?.trim(), writeKeyValueList(items.filter(({ value }) => value !== ''))];
  return lists.filter(Boolean).join(', ') || undefined;
}

/** Receives the files of one form. A file that arrives before the field `action` is committed only when the action is known. */
class UploadReceiver {
  readonly #exchange: Exchange;
  readonly #folder: VirtualPath;
  readonly #results: MemberResult[] = [];
  readonly #keptBack: { name: string; path: VirtualPath; upload: FileUpload }[] = [];
  readonly #stored: Pick<UploadResult, 'path' | 'eventUuid'>[] = [];
  /** Headers from replies of the upload back-end, for the reply to the form. */
  #passed: ReplyHeaders = {};
  #receivedBytes = 0;

  constructor(exchange: Exchange, folder: VirtualPath) {
    this.#exchange = exchange;
    this.#folder = folder;
  }

  async receive(file: FormFile, fields: FormFields): Promise<void> {
    const name = bareFileName(file.fileName);
    const action = fields.one('action');
    // A browser sends an empty part for a file field in which no file is selected.
    if (file.field !== uploadAction || name === '' || (action !== undefined && action !== uploadAction)) {
      file.content.resume();
      return;
    }
    if (action === undefined && this.#keptBack.length >= maxKeptBack)
      throw new ServiceError('bad-request', `The field "action" must come before file ${maxKeptBack + 1}.`);
    let upload: FileUpload | undefined;
    try {
      const { visit } = this.#exchange;
      const path = visit ? visit.targetOf(selectedPath('/' as VirtualPath, name)) : targetPath(this.#folder, name);
      upload = await this.#open(path, formMetadata(fields));
      await this.#copy(file, upload);
      if (action === uploadAction) await this.#commit(name, path, upload);
      else this.#keptBack.push({ name, path, upload });
    } catch (error) {
      await upload?.abort(error);
      if (isServiceError(error, 'client-gone')) throw error;
      file.content.resume();
      this.#results.push(memberFailure(name, error));
    }
  }

  async finish(): Promise<Reply> {
    for (const { name, path, upload } of this.#keptBack.splice(0)) {
      try {
        await this.#commit(name, path, upload);
      } catch (error) {
        await upload.abort(error);
        this.#results.push(memberFailure(name, error));
      }
    }
    if (this.#results.length === 0) throw new ServiceError('bad-request', `The form has no file in the field "${uploadAction}".`);
    const reply = replyTo(this.#exchange, this.#folder, 'uploaded', this.#results);
    const [first, ...others] = this.#stored;
    const ofFile: ReplyHeaders =
      reply.status === 201 && first && others.length === 0 && !this.#exchange.visit
        ? { 'server-path': serverPathValue(first.path), 'event-id': first.eventUuid }
        : {};
    return { ...reply, headers: mergeHeaders(this.#passed, { ...reply.headers, ...ofFile }) };
  }

  async dropAll(reason: unknown): Promise<void> {
    for (const { upload } of this.#keptBack.splice(0)) await upload.abort(reason);
  }

  #open(path: VirtualPath, formMetadata: string | undefined): Promise<FileUpload> {
    const backendUuid = this.#exchange.service.options.api_backend_uuid || undefined;
    return signedIn(this.#exchange).files.openUpload(path, {
      metadata: uploadMetadata(this.#exchange, formMetadata),
      backendUuid,
      isDigested: this.#exchange.visit !== undefined,
    });
  }

  async #copy(file: FormFile, upload: FileUpload): Promise<void> {
    const limitBytes = this.#exchange.service.options.maximum_request_size;
    // An error must not destroy the stream, because the parser would then wait for the rest of the file forever.
    for await (const chunk of file.content.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      this.#receivedBytes += chunk.length;
      checkRequestBytes(this.#receivedBytes, limitBytes);
      await upload.write([chunk]);
    }
  }

  async #commit(name: string, path: VirtualPath, upload: FileUpload): Promise<void> {
    const result: UploadResult = await upload.commit();
    this.#stored.push(result);
    Object.assign(this.#passed, await backendReplyHeaders(this.#exchange, result.path, result));
    const dropped = this.#exchange.visit && droppedFile(result);
    this.#results.push({ target: result.path === path ? name : baseName(result.path), problem: undefined, status: 201, dropped });
  }
}
