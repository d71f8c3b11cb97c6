import pageScripts from 'svc:page-scripts';
import * as swaggerUi from 'svc:swagger-ui';
import { type Asset, AssetFiles, webFile } from './asset-files.ts';

const files = new AssetFiles('/__svc__/');

/** The order counts: rules for narrow screens come last. */
const styleFiles = [
  'shared/page.css',
  'shared/controls.css',
  'shared/frame.css',
  'shared/menu.css',
  'shared/card.css',
  'files/kinds.css',
  'files/listing.css',
  'files/rows.css',
  'shared/dialogs.css',
  'files/script.css',
  'files/screens.css',
  'files/grid.css',
  'shared/motion.css',
];

/** The frame without what would change the looks of Swagger UI. */
const frameStyle = [
  webFile('shared/page.css'),
  `:where(.top){${webFile('shared/controls.css')}}`,
  webFile('shared/frame.css'),
  webFile('shared/menu.css'),
].join('\n');

/** URL paths of the files that pages refer to. */
export const assetPaths = {
  style: files.add('page', 'css', webFile(...styleFiles)),
  icon: files.add('icon', 'svg', webFile('files/icon.svg')),
  pageScript: files.addScripts('page', pageScripts),
  frameStyle: files.add('frame', 'css', frameStyle),
  apiStyle: files.add('openapi', 'css', webFile('api/api.css')),
  apiScript: files.add('openapi', 'js', webFile('api/openapi.js')),
  // Packed into the executable; unpacked when somebody opens the API page.
  swaggerStyle: files.add('swagger-ui', 'css', swaggerUi.css),
  swaggerScript: files.add('swagger-ui', 'js', swaggerUi.js),
};

/** URL path of the texts of the page's script in a language other than English, whose texts are in the script itself. */
export function scriptTextsPath(tag: string): string {
  return assetPaths.pageScript.replace('/page.js', `/${tag}.js`);
}

/** All assets by their name below `/__svc__/`. */
export const assets: ReadonlyMap<string, Asset> = files.all;
