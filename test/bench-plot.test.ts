import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { XMLValidator } from 'fast-xml-parser';

const script = join(process.env.SVC_ROOT ?? process.cwd(), 'scripts/bench/support/plot.mjs');
const { logLogPlot } = (await import(pathToFileURL(script).href)) as { logLogPlot(drawn: typeof plot): string };

const inProportion = [1, 10, 100, 1000].map((x) => [x, x * 0.2]);
const plot = {
  title: 'A listing <1,000,000 & more>',
  description: 'PROPFIND from 0.2 to 200 ms.',
  xLabel: 'entries',
  yLabel: 'ms',
  lines: [
    { name: 'PROPFIND', points: inProportion },
    { name: 'flat', points: inProportion.map(([x]) => [x, 1]) },
  ],
};

/** Ends of the lines of a class, as [x, y]. */
function endsOf(svg: string, name: string): number[][] {
  return [...svg.matchAll(new RegExp(`<path class="${name}" d="M([\\d. ]+)(?:L[\\d. L]*)?L([\\d. ]+)"/>`, 'g'))].flatMap(
    ([, from = '', to = '']) => [from, to].map((end) => end.split(' ').map(Number)),
  );
}

test('a plot is small, well formed, and says what it shows to those who do not see it', () => {
  const svg = logLogPlot(plot);
  assert.equal(XMLValidator.validate(svg), true);
  assert.match(svg, /^<svg [^>]*role="img" aria-labelledby="title description">/);
  assert.match(svg, /<title id="title">A listing &lt;1,000,000 &amp; more&gt;<\/title>/);
  assert.match(svg, /<desc id="description">PROPFIND from 0\.2 to 200 ms\.<\/desc>/);
  assert.match(svg, /prefers-color-scheme:dark/);
  assert.ok(svg.length < 6000, `${svg.length} characters`);
});

test('what grows as its work does lies on the dashed line, and what stays the same is level', () => {
  const svg = logLogPlot(plot);
  assert.deepEqual(endsOf(svg, 'line s0'), endsOf(svg, 'reference'));
  const [from, to] = endsOf(svg, 'line s1');
  assert.equal(from?.[1], to?.[1]);
  assert.ok((from?.[0] as number) < (to?.[0] as number));
});
