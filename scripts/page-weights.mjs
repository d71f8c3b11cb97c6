// Measures the sizes of the built pages for the documentation (docs.mjs).
import { gzipSync } from 'fflate';
import { scriptStarts, style } from './bundle-options.mjs';
import { pageScripts } from './page-scripts.mjs';

/** The purposes of the script's parts, in the order of the table. `shared` stands for all parts that several others share. */
const purposes = {
  'page.js': 'the script of every page, with English texts',
  language: 'the texts of German, French or Spanish',
  'sending.js': 'the queue that sends files',
  'space.js': 'how full a quota is, in the menu and on the page',
  'transfer.js': 'the choice of a folder to move or copy to',
  'undo.js': 'undoing moves and deletions',
  'thumbnail-of.js': 'thumbnails',
  'viewer.js': 'the viewer, with pictures, films and PDF',
  'text-preview.js': 'the preview of texts, also of those in archives',
  'archive-preview.js': 'the contents of a ZIP archive',
  shared: 'code that several other parts share',
  'player.js': 'the player of audio files',
  'questions.js': 'questions about the trash, shared links and held uploads',
  'command-dialogs.js': 'the question before a deletion that cannot be undone',
  'found.js': 'the results of a search',
  'share.js': 'the dialog that makes a link',
  'copy-field.js': 'the button that copies a link or a token, and messages about the fields of pages',
};

const languages = ['de.js', 'es.js', 'fr.js'];

/** Returns the purpose of a file. The names of shared files change with their content. */
function purposeOf(file, inputs) {
  if (languages.includes(file)) return 'language';
  // If another part uses the code of one of these two parts, too, esbuild puts the code into a file `chunk-….js`.
  const used = ['text-preview', 'undo'].find((part) => Object.keys(inputs).some((path) => path.endsWith(`/${part}.ts`)));
  if (used !== undefined) return `${used}.js`;
  return file.startsWith('chunk-') ? 'shared' : file.replace(/-[A-Z\d]{8}\.js$/, '.js');
}

function kilobytes(bytes) {
  return `${Math.ceil(bytes / 1000)} kB`;
}

function packedBytes(text) {
  return gzipSync(Buffer.from(text), { level: 9, mtime: 1 }).length;
}

/** Returns the table of sizes as Markdown. @param {string} styleText style sheet of all pages */
export async function pageWeights(styleText) {
  const { files, inputsOf } = await pageScripts(scriptStarts['svc:page-scripts'].pathname, [style]);
  const weights = new Map();
  const libraries = new Map();
  for (const [file, text] of Object.entries(files)) {
    const purpose = purposeOf(file, inputsOf[file]);
    if (!(purpose in purposes)) throw new Error(`page-weights.mjs has no purpose for ${file}.`);
    const bytes = packedBytes(text);
    const before = weights.get(purpose) ?? 0;
    weights.set(purpose, purpose === 'language' ? Math.max(before, bytes) : before + bytes);
    for (const [path, { bytesInOutput }] of Object.entries(inputsOf[file])) {
      const library = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1];
      if (library === undefined) continue;
      const known = libraries.get(purpose) ?? new Map();
      libraries.set(purpose, known.set(library, (known.get(library) ?? 0) + bytesInOutput));
    }
  }
  const rows = Object.entries(purposes).map(([purpose, meaning]) => {
    const used = [...(libraries.get(purpose) ?? [])].map(([name, bytes]) => `${name} ${kilobytes(bytes)}`);
    return `| ${meaning} | ${kilobytes(weights.get(purpose))} | ${used.join(', ')} |`;
  });
  rows.unshift(`| the style of every page | ${kilobytes(packedBytes(styleText))} | |`);
  return `| part | gzip | libraries in it, unpacked |\n|---|---:|---|\n${rows.join('\n').replaceAll('|  |', '| |')}\n`;
}
