/** Where links and pictures of a document may lead. */
export interface DocumentPlace {
  /** URL of the document. */
  url: string;
  /** URL below which the account's files are. */
  rootUrl: string;
}

/**
 * The URL of a link: of the web, an e-mail address, or one of the account's files. Other parts of the service do things, such as to sign
 * out, which no document shall ask for.
 *
 * @param place undefined for a document that stands nowhere, such as one in an archive: its relative links lead nowhere
 */
export function linkUrl(href: string, place: DocumentPlace | undefined): string | undefined {
  const url = parsed(href, place);
  if (!url) return undefined;
  if (url.protocol === 'mailto:') return url.href;
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return undefined;
  const isForeign = place !== undefined && url.origin !== new URL(place.url).origin;
  return isForeign || place === undefined || url.href.startsWith(place.rootUrl) ? url.href : undefined;
}

/** The URL of a picture: one of the account's files alone, as others would tell somebody else what is looked at. */
export function pictureUrl(href: string, place: DocumentPlace | undefined): string | undefined {
  const url = parsed(href, place);
  if (!url || !place || !url.href.startsWith(place.rootUrl)) return undefined;
  url.search = '?inline';
  url.hash = '';
  return url.href;
}

function parsed(href: string, place: DocumentPlace | undefined): URL | undefined {
  return URL.canParse(href, place?.url) ? new URL(href, place?.url) : undefined;
}
