/** Returns a URL without its credentials and query, so that events, records and logs can contain it. */
export function redactedUrl(url: string): string {
  const bare = url.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, '$1');
  const query = bare.indexOf('?');
  return query < 0 ? bare : `${bare.slice(0, query)}?…`;
}
