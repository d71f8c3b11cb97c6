import pageScripts from 'svc:page-scripts';
import * as swaggerUi from 'svc:swagger-ui';
import apiStyle from '../assets/api.css';
import card from '../assets/card.css';
import controls from '../assets/controls.css';
import dialogs from '../assets/dialogs.css';
import frame from '../assets/frame.css';
import grid from '../assets/grid.css';
import icon from '../assets/icon.svg';
import kinds from '../assets/kinds.css';
import listing from '../assets/listing.css';
import menu from '../assets/menu.css';
import motion from '../assets/motion.css';
import apiScript from '../assets/openapi.client.js';
import page from '../assets/page.css';
import rows from '../assets/rows.css';
import screens from '../assets/screens.css';
import script from '../assets/script.css';
import { type Asset, AssetFiles } from './asset-files.ts';

const files = new AssetFiles('/__svc__/');

/** The order counts: rules for narrow screens come last. */
const style = [page, controls, frame, menu, card, kinds, listing, rows, dialogs, script, screens, grid, motion].join('\n');

/** The frame without what would change the looks of Swagger UI. */
const frameStyle = [page, `:where(.top){${controls}}`, frame, menu].join('\n');

/** URL paths of the files that pages refer to. */
export const assetPaths = {
  style: files.add('page', 'css', style),
  icon: files.add('icon', 'svg', icon),
  pageScript: files.addScripts('page', pageScripts),
  frameStyle: files.add('frame', 'css', frameStyle),
  apiStyle: files.add('openapi', 'css', apiStyle),
  apiScript: files.add('openapi', 'js', apiScript),
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
