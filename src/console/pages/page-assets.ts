import pageScripts from 'svc:console-scripts';
import card from '../../http/html/assets/card.css';
import controls from '../../http/html/assets/controls.css';
import dialogs from '../../http/html/assets/dialogs.css';
import frame from '../../http/html/assets/frame.css';
import menu from '../../http/html/assets/menu.css';
import motion from '../../http/html/assets/motion.css';
import page from '../../http/html/assets/page.css';
import { type Asset, AssetFiles } from '../../http/html/pages/asset-files.ts';
import charts from './assets/charts.css';
import forms from './assets/forms.css';
import consoleFrame from './assets/frame.css';
import icon from './assets/icon.svg';
import panels from './assets/panels.css';
import screens from './assets/screens.css';
import tables from './assets/tables.css';

const files = new AssetFiles('/');

/** The order counts: rules for narrow screens come last. */
const style = [page, controls, frame, menu, card, dialogs, consoleFrame, panels, forms, tables, charts, screens, motion].join('\n');

/** URL paths of the files that the page refers to. */
export const assetPaths = {
  style: files.add('console', 'css', style),
  icon: files.add('icon', 'svg', icon),
  script: files.addScripts('page', pageScripts),
};

/** URL path of the texts of the script in a language other than English, whose texts are in the script itself. */
export function scriptTextsPath(tag: string): string {
  return assetPaths.script.replace('/page.js', `/${tag}.js`);
}

/** All files by their URL paths without the first slash. */
export const assets: ReadonlyMap<string, Asset> = files.all;
