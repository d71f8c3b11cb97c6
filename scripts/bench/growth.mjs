// How costs grow with their work: folders, files, connections, journals, accounts and rules from few to very many. CPU of the server, so that
// other work on the machine shows little. A cost that grows faster than its work is said, and ends the benchmark with 1.
//   node scripts/bench/growth.mjs [CURVE…] [--rounds N] [--most TEXT] [--smoke] [--write]
//   curves: folders, files, connections, journals, accounts, rules; --most ends each at so many (for a short run)
//   --write puts tables and plots of the curves that were measured whole into docs/operate
import { writeFileSync } from 'node:fs';
import { makeFolders, readOptions, remove } from './support/benchmark.mjs';
import { growthCurves } from './support/growth-curves.mjs';
import { machineLine, median } from './support/machine.mjs';
import { logLogPlot } from './support/plot.mjs';
import { table, writeBetween } from './support/table.mjs';

const { rounds, positionals, ...options } = readOptions(3, { most: { type: 'string' } }, true);
/** How much steeper than its work a line may be over its last step: what measuring adds. */
const tolerance = 0.2;
const { folder, home } = makeFolders();
const curves = growthCurves({ folder, home });
const chosen = positionals.length > 0 ? positionals : Object.keys(curves);
let bends = 0;
try {
  for (const name of chosen) await run(name, curves[name]);
} finally {
  remove(folder);
}
process.exit(bends > 0 && !options.smoke ? 1 : 0);

async function run(name, curve) {
  const most = options.smoke ? curve.smoke : Number(options.most ?? Number.POSITIVE_INFINITY);
  const sizes = (options.smoke ? [most / 2, most] : curve.sizes).filter((size) => size <= most);
  const found = [];
  for (const size of sizes) {
    found.push(await curve.measure(size, rounds));
    console.error(`${name}, ${curve.xText(size)}: ${JSON.stringify(found.at(-1))}`);
  }
  const lines = Object.entries(curve.lines).map(([line, { unit, work }]) => {
    const points = sizes.flatMap((size, index) => (found[index][line] === undefined ? [] : [[size, median(found[index][line])]]));
    return { name: line, unit, work, points, exponent: exponentOf(points) };
  });
  const steep = lines.filter(({ exponent, work }) => exponent > work + tolerance);
  bends += steep.length;
  const verdict =
    steep.length === 0
      ? 'No line grows faster than its work.'
      : `Grows faster than its work: ${steep.map((line) => `${line.name} (${line.exponent.toFixed(2)})`).join(', ')}.`;
  const rows = lines.map((line) => [
    `${line.name}, ${line.unit}`,
    ...sizes.map((size) => figure(line.points.find(([x]) => x === size)?.[1])),
    line.exponent.toFixed(2),
    line.work,
  ]);
  const text = [
    `${machineLine()};\nmedians of ${rounds} ${rounds === 1 ? 'round' : 'rounds'}.\n${verdict}`,
    '',
    table([curve.xLabel, ...sizes.map(curve.xText), 'exponent', 'of its work'], rows),
  ].join('\n');
  console.log(`\n### ${curve.title}\n\n${text}`);
  const drawn = lines.filter((line) => line.unit === curve.yUnit);
  const description = `${curve.title}: ${drawn.map((line) => `${line.name} from ${figure(line.points[0][1])} to ${figure(line.points.at(-1)[1])} ${line.unit}`).join(', ')}. ${verdict}`;
  const yLabel = `${curve.yUnit} (CPU of the server)`;
  const svg = logLogPlot({ ...curve, description, yLabel, work: drawn[0].work, lines: drawn });
  if (!options.write || sizes.length < curve.sizes.length) return;
  writeFileSync(`docs/operate/growth-${name}.svg`, svg);
  writeBetween('docs/operate/performance.md', `bench-growth-${name}`, `${text}\n\n![${description}](growth-${name}.svg)`);
}

/** The power of the work by which a cost grew over the last step: 1 is in proportion. */
function exponentOf(points) {
  if (points.length < 2) return 0;
  const [[x, y], [lastX, lastY]] = points.slice(-2);
  return Math.log(lastY / y) / Math.log(lastX / x);
}

function figure(value) {
  if (value === undefined) return '–';
  return value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : Math.round(value).toLocaleString('en');
}
