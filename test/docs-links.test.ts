import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from './support/temp.ts';

const root = process.env.SVC_ROOT ?? process.cwd();

const foreignFolders = new Set(['node_modules', 'dist', 'fixtures']);

function filesBelow(folder: string, ending: RegExp): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name.startsWith('.') || foreignFolders.has(entry.name) ? [] : filesBelow(path, ending);
    return entry.isFile() && ending.test(entry.name) ? [path] : [];
  });
}

/** Returns a page without code, which contains neither links nor headings. */
function withoutCode(markdown: string): string {
  return markdown.replace(/^ *```[\s\S]*?^ *```$/gm, '').replace(/(`+)(?!`)[\s\S]*?\1/g, (code) => code.replace(/[[\]()<>]/g, ' '));
}

/** Returns the anchor that GitHub gives to a heading. */
function anchorOf(heading: string): string {
  const shown = heading.replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/<\/?[a-z][^>]*>/g, '');
  return shown
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

function anchorsOf(path: string): Set<string> {
  const text = readFileSync(path, 'utf8').replace(/^ *```[\s\S]*?^ *```$/gm, '');
  const anchors = new Set([...text.matchAll(/<a (?:id|name)="([^"]+)"/g)].map((match) => match[1] as string));
  const seen = new Map<string, number>();
  for (const [, heading = ''] of text.matchAll(/^#{1,6} +(.*?)#*$/gm)) {
    const anchor = anchorOf(heading);
    const before = seen.get(anchor) ?? 0;
    seen.set(anchor, before + 1);
    anchors.add(before === 0 ? anchor : `${anchor}-${before}`);
  }
  return anchors;
}

function leadsSomewhere(path: string, anchor: string | undefined): boolean {
  return existsSync(path) && (anchor === undefined || !path.endsWith('.md') || anchorsOf(path).has(anchor));
}

/** Returns the links of a page, except those to other hosts. */
function linksOf(file: string): string[] {
  const text = withoutCode(readFileSync(file, 'utf8'));
  const targets = [...text.matchAll(/\]\(\s*<?([^)\s>]+)|^ *\[[^\]]+\]: +(\S+)|<(?:img|a|source)[^>]* (?:src|href|srcset)="([^"]+)"/gm)];
  return targets.map((match) => (match[1] ?? match[2] ?? match[3]) as string).filter((target) => !/^[a-z]+:/i.test(target));
}

/** Returns links to missing files, pictures and sections, as `file: target`. */
function deadLinks(folder: string): string[] {
  return filesBelow(folder, /\.md$/).flatMap((file) => {
    return linksOf(file)
      .filter((target) => {
        const [path = '', anchor] = decodeURI(target).split('#', 2);
        return !leadsSomewhere(path === '' ? file : join(dirname(file), path), anchor);
      })
      .map((target) => `${relative(folder, file)}: ${target}`);
  });
}

/** Returns citations of missing pages and sections in the sources (`docs/spec/http.md#errors` anywhere, `page.md` in comments). */
function deadCitations(folder: string): string[] {
  const sources = ['src', 'scripts', 'bin', 'test', 'examples'].map((name) => join(folder, name)).filter(existsSync);
  return sources
    .flatMap((source) => filesBelow(source, /\.(ts|mjs|js|css|ya?ml|sh)$/))
    .flatMap((file) => {
      const text = readFileSync(file, 'utf8');
      const cited = [...text.matchAll(/(?<![\w/.-])(docs\/[\w/-]+\.md)(?:#([\w-]+))?/g)];
      const inComments = [...text.matchAll(/^\s*(?:\/?\*|\/\/).*$/gm)].flatMap(([line]) => [
        ...line.matchAll(/(?<![\w/.`-])([\w-]+\.md)(?:#([\w-]+))?/g),
      ]);
      return [...cited, ...inComments]
        .filter(([, path = '', anchor]) => !leadsSomewhere(join(folder, path), anchor))
        .map(([citation]) => `${relative(folder, file)}: ${citation}`);
    });
}

test('every link in the documentation leads to an existing file and section', () => {
  assert.deepEqual(deadLinks(root), []);
});

test('the npm package has the documentation without the design, and its pages have no links to omitted files', () => {
  const { stdout } = spawnSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: root, encoding: 'utf8' });
  const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
  const packed = files.map(({ path }) => path);
  assert.ok(packed.includes('docs/operate/install.md') && packed.includes('docs/spec/http.md'));
  assert.deepEqual(
    packed.filter((path) => path.startsWith('docs/design')),
    [],
  );
  const isPacked = (path: string) => packed.some((one) => one === path || one.startsWith(`${path.replace(/\/$/, '')}/`));
  const leadOut = packed
    .filter((path) => path.endsWith('.md'))
    .flatMap((path) =>
      linksOf(join(root, path)).flatMap((target) => {
        const [linked = ''] = target.split('#', 1);
        return linked === '' || isPacked(join(dirname(path), linked)) ? [] : [`${path}: ${target}`];
      }),
    );
  assert.deepEqual(leadOut, []);
});

test('every page and section that the sources cite exists', () => {
  assert.deepEqual(deadCitations(root), []);
});

test('dead links and citations are found; valid ones and code are not reported', (t) => {
  const folder = temporaryFolder(t);
  for (const name of ['docs', 'src']) mkdirSync(join(folder, name));
  // The citations are composed at run time, because the test above also searches this file.
  const cite = (path: string) => `docs/${path}`;
  const page = [
    '# A page: `with` [links](b.md)',
    '## Twice',
    '## Twice',
    '<a id="named"></a>',
    '[1](#a-page-with-links) [2](#twice-1) [3](#named) [4](b.md#here) [5](https://example.com/gone.md)',
    '[6](#twice-2) [7](gone.md) ![8](gone.png) [9](b.md#there) [10]',
    '`[11](gone.md)`',
    '```',
    '[12](gone.md)',
    '```',
    '',
    '[10]: ../gone/',
  ];
  writeFileSync(join(folder, cite('a.md')), page.join('\n'));
  writeFileSync(join(folder, cite('b.md')), '# Here\n```\n# There\n```\n');
  const source = [
    `/** ${cite('a.md')}#twice, ${cite('a.md')}, ${cite('gone.md')}, ${cite('b.md')}#there. */`,
    '// As gone.md says, example.com/gone.md does not.',
    "const name = 'gone.md';",
  ];
  writeFileSync(join(folder, 'src/a.ts'), source.join('\n'));
  assert.deepEqual(
    deadLinks(folder),
    ['#twice-2', 'gone.md', 'gone.png', 'b.md#there', '../gone/'].map((target) => `${cite('a.md')}: ${target}`),
  );
  assert.deepEqual(
    deadCitations(folder),
    [cite('gone.md'), `${cite('b.md')}#there`, 'gone.md'].map((citation) => `src/a.ts: ${citation}`),
  );
});
