import type { ServiceEvent } from '../../events/event.ts';
import { eventVariable, isKnownVariable } from '../../events/variables.ts';
import { ServiceError } from '../../lib/errors.ts';
import { parseTemplate, type TextTemplate } from '../../lib/text-template.ts';

/** The parts of a configured URL to which files are sent. */
export interface TargetUrl {
  /** The URL as it is in the configuration. */
  text: string;
  kind: 'put' | 's3' | 'sftp';
  /** The part before the path: `https://host:8443`, `s3://bucket` or `sftp://user@host`. */
  origin: string;
  /** The path, including its first `/`. */
  path: TextTemplate;
  /** The query, including its `?`; empty if there is none. */
  query: string;
}

/** Variables whose value may contain several folders. The value of every other variable must be a single name. */
const pathVariables = new Set(['path', 'data.path', 'data.directory_name']);

/** Maximum length of a name in bytes, as in common file systems. */
const maxNameBytes = 255;

const kinds: Readonly<Record<string, TargetUrl['kind']>> = { http: 'put', https: 'put', s3: 's3', sftp: 'sftp' };

/** @throws ServiceError `bad-request` for a URL to which no file can be sent */
export function parseTargetUrl(text: string): TargetUrl {
  const [, scheme = '', authority = '', path = '/', query = ''] = /^([a-z0-9]+):\/\/([^/?#\s]+)(\/[^?#]*)?(\?[^#]*)?$/i.exec(text) ?? [];
  const kind = kinds[scheme.toLowerCase()];
  if (!kind) throw bad('must be an https://, http://, s3:// or sftp:// URL');
  if (/[{}]/.test(authority + query)) throw bad('variables are allowed only in the path of the URL');
  const origin = `${scheme.toLowerCase()}://${authority}`;
  if (!URL.canParse(origin)) throw bad('must be an https://, http://, s3:// or sftp:// URL');
  checkAuthority(kind, origin, query);
  const template = parseTemplate(path);
  checkTemplate(template, path);
  return { text, kind, origin, path: template, query };
}

function checkAuthority(kind: TargetUrl['kind'], origin: string, query: string): void {
  const { username, password, port } = new URL(origin);
  if (password !== '') throw bad('must not contain a password; use "password"');
  if (kind === 'sftp' && username === '') throw bad('must name the user: sftp://user@host/folder/{path}');
  if (kind !== 'sftp' && username !== '') throw bad('must not contain a user name; use "username" and "password"');
  if (kind !== 'put' && query !== '') throw bad('must not have a query');
  if (kind === 's3' && (port !== '' || !/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(origin.slice('s3://'.length))))
    throw bad('must name a bucket: s3://bucket/folder/{path}');
}

/** @throws ServiceError `bad-request` for unknown variables, and for a path with an invalid name, such as `..` */
function checkTemplate(template: TextTemplate, text: string): void {
  for (const name of template.variables) {
    if (name.toLowerCase() !== 'path' && !isKnownVariable(name)) throw bad(`no event has a variable "{${name}}"`);
  }
  if (text.split('/').some((segment) => nameFault(segment) !== undefined)) throw bad('must not have "..", "\\" or control characters');
}

/**
 * Returns the path of a file at the target, as segments that are not encoded. Only the values of `pathVariables` can add segments.
 *
 * @throws ServiceError `name-invalid` for a value that would lead out of the folder of the URL, or that is not a valid name at the target
 */
export function targetSegments(template: TextTemplate, event: ServiceEvent): string[] {
  const text = template.render(
    (name) => eventVariable(event, name.toLowerCase() === 'path' ? 'data.path' : name),
    (value, name) => {
      const isPath = pathVariables.has(name.toLowerCase());
      if (value === '') throw unusable(`the event has no value for {${name}}`);
      if (!isPath && value.includes('/')) throw unusable(`the value of {${name}} has a "/"`);
      return isPath ? value.replace(/^\//, '') : value;
    },
  );
  const segments = text.split('/').slice(1);
  const named = segments.filter((segment) => segment !== '');
  for (const segment of named) {
    const fault = nameFault(segment);
    if (fault !== undefined) throw unusable(`${JSON.stringify(segment)} ${fault}`);
  }
  if (named.length === 0 || segments.at(-1) === '') throw unusable('the path at the target has no file name');
  return named;
}

function nameFault(segment: string): string | undefined {
  if (segment === '.' || segment === '..') return 'is not a name';
  if (/[\u0000-\u001f\u007f\\]/.test(segment)) return 'has a backslash or a control character';
  if (!segment.isWellFormed()) return 'is not valid Unicode';
  return Buffer.byteLength(segment) > maxNameBytes ? `is longer than ${maxNameBytes} bytes` : undefined;
}

/** Returns the URL to which the file of an event is sent, as text for people. @param text URL in the configuration */
export function shownTarget(text: string, event: ServiceEvent): string {
  const { origin, path } = parseTargetUrl(text);
  try {
    return `${origin}${encodedPath(targetSegments(path, event))}`;
  } catch (error) {
    return `${origin}/ (${(error as Error).message})`;
  }
}

/**
 * Returns the path of a URL. All characters except unreserved ones (RFC 3986 §2.3) are percent-encoded, because S3 signatures require that.
 */
export function encodedPath(segments: readonly string[]): string {
  const encode = (segment: string) =>
    encodeURIComponent(segment).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
  return segments.map((segment) => `/${encode(segment)}`).join('');
}

function bad(message: string): ServiceError {
  return new ServiceError('bad-request', message);
}

function unusable(message: string): ServiceError {
  return new ServiceError('name-invalid', message);
}
