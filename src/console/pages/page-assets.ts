import pageScripts from 'svc:console-scripts';
import { type Asset, AssetFiles, webFile } from '../../http/html/pages/asset-files.ts';

const files = new AssetFiles('/');

/** The order counts: rules for narrow screens come last. */
const styleFiles = [
  'shared/page.css',
  'shared/controls.css',
  'shared/frame.css',
  'shared/menu.css',
  'shared/card.css',
  'shared/dialogs.css',
  'console/frame.css',
  'console/panels.css',
  'console/forms.css',
  'console/tables.css',
  'console/charts.css',
  'console/screens.css',
  'shared/motion.css',
];

/** URL paths of the files that the page refers to. */
export const assetPaths = {
  style: files.add('console', 'css', webFile(...styleFiles)),
  icon: files.add('icon', 'svg', webFile('console/icon.svg')),
  script: files.addScripts('page', pageScripts),
};

/** URL path of the texts of the script in a language other than English, whose texts are in the script itself. */
export function scriptTextsPath(tag: string): string {
  return assetPaths.script.replace('/page.js', `/${tag}.js`);
}

/** All files by their URL paths without the first slash. */
export const assets: ReadonlyMap<string, Asset> = files.all;
