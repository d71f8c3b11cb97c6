import { ServiceError } from '../../lib/errors.ts';
import { loginMethod } from '../../ssh/sftp/request-operations.ts';
import type { Question } from './decision.ts';

/** A question as it is asked: a login is about no path. */
export type AskedQuestion = Omit<Question, 'path'> & { path?: string | undefined };

/** Checks what is asked of `decide`. @throws ServiceError `bad-request` for what nobody can answer */
export function questionOf(asked: AskedQuestion): Question {
  const { method, path } = asked;
  const isLogin = method.toUpperCase() === loginMethod;
  if (isLogin !== (path === undefined))
    throw new ServiceError('bad-request', isLogin ? 'LOGIN is about no path.' : `The path is missing: ${method} of what?`);
  if (method.toUpperCase() === 'POST')
    throw new ServiceError('bad-request', 'POST runs commands; explain what each one does: PUT FOLDER/ creates, DELETE deletes.');
  return { ...asked, path: path ?? '' };
}
