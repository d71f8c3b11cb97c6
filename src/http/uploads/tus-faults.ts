import type { ResumableUpload } from '../../files/uploads/resumable-upload.ts';
import { type ErrorCode, isServiceError, type ServiceError } from '../../lib/errors.ts';
import type { HttpContext, HttpHandler } from '../environment.ts';
import { errorsReply } from '../reply/error-reply.ts';
import { respond } from '../reply/respond.ts';
import { withHeaders } from './draft-replies.ts';
import { checkTusVersion, tusHeaders } from './tus-fields.ts';

/** tus 1.0.0, checksum: the digest of a request is not that of its content. */
const checksumMismatch = 460;

/** A fault that ended an upload: no request can mend it. Clients of tus repeat a 409 or 423 for ever, so it has another status. */
export class UploadOver extends Error {
  readonly fault: Pick<ServiceError, 'code' | 'message'>;

  constructor(fault: Pick<ServiceError, 'code' | 'message'>) {
    super(fault.message);
    this.fault = fault;
  }
}

/** What a fault is by which an upload may be over. */
export function tusFault(error: unknown, { record }: ResumableUpload): unknown {
  return isServiceError(error) && error.code !== 'client-gone' && record.outcome ? new UploadOver(error) : error;
}

function statusOfEnd(code: ErrorCode): number {
  if (['forbidden', 'never-allowed', 'name-reserved', 'fixed-folder', 'read-only'].includes(code)) return 403;
  return code === 'not-found' ? 410 : 422;
}

/** A handler of requests of tus: its version is checked first, and faults are answered as clients of tus understand them. */
export function tus(handler: HttpHandler): HttpHandler {
  return async (c: HttpContext) => {
    try {
      checkTusVersion(c.env);
      return await handler(c);
    } catch (error) {
      if (error instanceof UploadOver)
        return respond(c, errorsReply(statusOfEnd(error.fault.code), [{ message: error.message }], { ...tusHeaders, ...uncached }));
      if (isServiceError(error, 'digest-mismatch'))
        return respond(c, errorsReply(checksumMismatch, [{ message: error.message }], { ...tusHeaders, ...uncached }));
      throw isServiceError(error) ? withHeaders(error, { ...tusHeaders, ...(error.details.reply_headers as object | undefined) }) : error;
    }
  };
}

const uncached = { 'cache-control': 'no-store' };
