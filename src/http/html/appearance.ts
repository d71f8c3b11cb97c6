import { createHash } from 'node:crypto';
import { ServiceError } from '../../lib/errors.ts';
import { type AppearanceOptions, type Logo, readLogo } from '../appearance-options.ts';
import { respond } from '../reply/respond.ts';
import type { Exchange } from '../request/exchange.ts';
import { assetHeaders } from './pages/asset-files.ts';
import type { Appearance } from './pages/page.ts';

interface Prepared extends Appearance {
  style: string;
  logo: Logo | undefined;
}

const prepared = new WeakMap<AppearanceOptions, Prepared>();

/** Returns the appearance of a service, prepared once per options object. If the logo file cannot be read, there is no logo. */
export function preparedAppearance(options: AppearanceOptions): Prepared {
  const known = prepared.get(options);
  if (known) return known;
  const style = accentStyle(options);
  const logo = loadLogo(options.logo_path);
  const made = {
    title: options.title,
    footer: options.footer,
    footerLinks: options.footer_links,
    style,
    logo,
    stylePath: style === '' ? undefined : `/__svc__/appearance.css?v=${version(style)}`,
    logoPath: logo && `/__svc__/logo?v=${version(logo.content)}`,
  };
  prepared.set(options, made);
  return made;
}

function loadLogo(path: string): Logo | undefined {
  try {
    return path === '' ? undefined : readLogo(path);
  } catch {
    return undefined;
  }
}

function accentStyle({ accent_color, accent_color_dark }: AppearanceOptions): string {
  const light = accent_color && `:root{--accent-light:${accent_color}}`;
  const dark = accent_color_dark && `:root{--accent-dark:${accent_color_dark}}`;
  return light + dark;
}

function version(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 12);
}

/** Answers GET of the style sheet with the configured colours. */
export function sendAppearanceStyle(exchange: Exchange): Promise<Response> {
  const { style } = preparedAppearance(exchange.service.options.appearance);
  return respond(exchange, { status: 200, headers: assetHeaders({ contentType: 'text/css; charset=utf-8' }), body: style });
}

/** Answers GET of the logo. The policy prevents scripts in an SVG from running in this origin if the SVG is opened as a page. */
export function sendLogo(exchange: Exchange): Promise<Response> {
  const { logo } = preparedAppearance(exchange.service.options.appearance);
  if (!logo) throw new ServiceError('not-found', 'Path not found.');
  const policy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";
  const headers = { ...assetHeaders({ contentType: logo.type }), 'content-security-policy': policy };
  return respond(exchange, { status: 200, headers, body: logo.content });
}
