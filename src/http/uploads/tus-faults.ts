import type { ResumableUpload } from '../../files/uploads/resumable-upload.ts';
import { type ErrorCode, isServiceError, type ServiceError } from '../../lib/errors.ts';
import type { HttpContext, HttpHandler } from '../environment.ts';
import { errorsReply, faultHeaders, statusOf } from '../reply/error-reply.ts';
import { respond } from '../reply/respond.ts';
import { withHeaders } from './draft-replies.ts';
import { checkTusVersion, tusState } from './tus-fields.ts';

/** tus 1.0.0, checksum: the digest of a request is not that of its content. */
const checksumMismatch = 460;

/** A fault that ended an upload, or had none begin: no request can mend it. Clients of tus repeat a 409 or 423 for ever, so it has another status. */
export class UploadOver extends Error {
  readonly fault: Pick<ServiceError, 'code' | 'message'>;

  constructor(fault: Pick<ServiceError, 'code' | 'message'>) {
    super(fault.message);
    this.fault = fault;
  }
}

/** What a fault is by which an upload may be over; of one that is not, its reply tells how far it is. */
export function tusFault(error: unknown, { record }: ResumableUpload): unknown {
  if (!isServiceError(error) || error.code === 'client-gone') return error;
  return record.outcome?.kind === 'failed' ? new UploadOver(error) : withHeaders(error, tusState(record));
}

/** What a fault is by which an upload does not begin. */
export function tusRefusal(error: unknown): unknown {
  return isServiceError(error) && statusOf[error.code] === 409 ? new UploadOver(error) : error;
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
        return respond(c, errorsReply(statusOfEnd(error.fault.code), [{ message: error.message }], uncached));
      if (isServiceError(error, 'digest-mismatch'))
        return respond(c, errorsReply(checksumMismatch, [{ message: error.message }], { ...faultHeaders(error), ...uncached }));
      throw error;
    }
  };
}

const uncached = { 'cache-control': 'no-store' };
