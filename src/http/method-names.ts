/** Safe methods (RFC 9110 §9.2.1, RFC 4918 §9.1). */
export const readingMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PROPFIND']);

export const webdavMethods: ReadonlySet<string> = new Set(['PROPFIND', 'PROPPATCH', 'MKCOL', 'COPY', 'MOVE', 'LOCK', 'UNLOCK']);

/** All methods that at least one URL of a service supports. */
export const knownMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT', 'PATCH', 'POST', 'DELETE', 'OPTIONS', ...webdavMethods]);

/** Methods whose result for a file or folder depends on permissions. */
export const permittedMethods = ['GET', 'HEAD', 'PUT', 'DELETE', 'PROPFIND', 'MKCOL', 'COPY', 'MOVE'] as const;
