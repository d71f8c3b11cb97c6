import pageScripts from 'svc:page-scripts';
import * as swaggerUi from 'svc:swagger-ui';
import { ServiceError } from '../../../lib/errors.ts';
import { respond } from '../../reply/respond.ts';
import { codingHeaders, wantsGzip } from '../../reply/send-chunks.ts';
import type { Exchange } from '../../request/exchange.ts';
import { type Asset, AssetFiles, assetHeaders, frameStyles, styleSheet, webFile } from './asset-files.ts';

const files = new AssetFiles('/__svc__/');

const { base, controls, frame, menu } = frameStyles;

/** URL paths of the files that pages refer to. */
export const assetPaths = {
  style: files.add(
    'page',
    'css',
    styleSheet(
      ['files/kinds.css', 'files/listing.css', 'files/rows.css'],
      ['files/script.css', 'files/screens.css', 'files/placed.css', 'files/grid.css'],
    ),
  ),
  plainListStyle: files.add('plain-list', 'css', webFile('files/recent.css')),
  tokensStyle: files.add('tokens', 'css', webFile('files/tokens.css')),
  linkStyle: files.add('link', 'css', webFile('files/links.css')),
  icon: files.add('icon', 'svg', webFile('files/icon.svg')),
  pageScript: files.addScripts('page', pageScripts),
  // Styles of the page frame, without rules that would change the look of Swagger UI.
  frameStyle: files.add('frame', 'css', [webFile(base), `:where(.top){${webFile(controls)}}`, webFile(frame), webFile(menu)].join('\n')),
  apiStyle: files.add('openapi', 'css', webFile('api/api.css')),
  apiScript: files.add('openapi', 'js', webFile('api/openapi.js')),
  // Swagger UI is compressed in the executable. It is decompressed only in replies to clients that do not accept gzip.
  swaggerStyle: files.add('swagger-ui', 'css', swaggerUi.css),
  swaggerScript: files.add('swagger-ui', 'js', swaggerUi.js),
};

/** All assets, by their names below `/__svc__/`. */
export const assets: ReadonlyMap<string, Asset> = files.all;

/** Answers GET of a file that pages refer to. */
export function sendAsset(exchange: Exchange): Promise<Response> {
  const { target } = exchange;
  const asset = target.kind === 'service' ? assets.get(target.name) : undefined;
  if (!asset) throw new ServiceError('not-found', 'Path not found.');
  const isCompressed = wantsGzip(exchange);
  const headers = { ...assetHeaders(asset), ...codingHeaders(isCompressed) };
  return respond(exchange, { status: 200, headers, body: isCompressed ? asset.packed() : asset.body() });
}
