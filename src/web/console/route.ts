/** The sections of the console, with the names that the fragment of the URL uses. */
export const sectionNames = ['overview', 'events', 'deliveries', 'handlers', 'accounts', 'held', 'expectations', 'configuration'] as const;
export type SectionName = (typeof sectionNames)[number];

/** A section, optionally one of its items, and a query. */
export interface Route {
  section: SectionName;
  /** The ID of an item of the section, such as an event, a delivery or `replays/…`; empty for the section itself. */
  id: string;
  query: URLSearchParams;
}

/** Parses the fragment of a URL. An unknown section becomes an item of the overview, which is reported as missing. */
export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#/, '').split(/\?(.*)/s);
  const [name, ...rest] = path.split('/');
  const section = sectionNames.find((candidate) => candidate === name);
  const id = (section === undefined ? [name ?? '', ...rest] : rest).map(decoded).join('/');
  return { section: section ?? 'overview', id, query: new URLSearchParams(query) };
}

/** Builds the fragment of a URL. @param id ID of an item of the section; its parts are separated by `/` */
export function hashFor(section: SectionName, id = '', query: URLSearchParams | Record<string, string> = {}): string {
  const path = [section, ...id.split('/').filter((part) => part !== '')].map(encodeURIComponent).join('/');
  const search = new URLSearchParams(query).toString();
  return `#${path}${search && `?${search}`}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
