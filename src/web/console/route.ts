/** The sections of the console, as the fragment of the URL names them. */
export const sectionNames = ['overview', 'events', 'deliveries', 'handlers', 'accounts', 'held', 'expectations', 'configuration'] as const;
export type SectionName = (typeof sectionNames)[number];

/** A section, perhaps one item of it, and its query. */
export interface Route {
  section: SectionName;
  /** An item of the section: an event, a delivery, `replays/…`. */
  id: string;
  query: URLSearchParams;
}

/** Reads the fragment of a URL; an unknown section becomes the first one. */
export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#/, '').split(/\?(.*)/s);
  const [name, ...rest] = path.split('/');
  const section = sectionNames.find((candidate) => candidate === name) ?? 'overview';
  return { section, id: rest.map(decoded).join('/'), query: new URLSearchParams(query) };
}

/** The fragment of a URL that shows something. @param id with `/` between its parts */
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
