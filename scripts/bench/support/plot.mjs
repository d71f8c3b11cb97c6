// Pictures of how costs grow, as SVG text: readable on a light and on a dark page, and by those who do not see it.

const [width, height] = [720, 400];
const area = { left: 70, top: 40, right: 530, bottom: 345 };
const shapes = [
  (x, y) => `<circle cx="${x}" cy="${y}" r="4"/>`,
  (x, y) => `<path d="M${x - 4} ${y - 4}h8v8h-8z"/>`,
  (x, y) => `<path d="M${x} ${y - 5}l5 9h-10z"/>`,
  (x, y) => `<path d="M${x} ${y - 5}l5 5l-5 5l-5-5z"/>`,
];

// Colours that most people can tell apart (Okabe and Ito), lighter ones on dark pages.
const style = `
text{font:13px system-ui,sans-serif;fill:#1f2328}.small{font-size:12px;fill:#59636e}
.page{fill:#fff;stroke:#d1d9e0}.grid{stroke:#d1d9e0}.reference{stroke:#59636e;stroke-dasharray:5 5}
.line{fill:none;stroke-width:2}.s0{stroke:#0072b2}.s1{stroke:#b04a00}.s2{stroke:#00785a}.s3{stroke:#a8487f}
.f0{fill:#0072b2}.f1{fill:#b04a00}.f2{fill:#00785a}.f3{fill:#a8487f}
@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.small{fill:#9198a1}.page{fill:#0d1117;stroke:#3d444d}.grid{stroke:#3d444d}
.reference{stroke:#9198a1}.s0{stroke:#56b4e9}.s1{stroke:#f0a860}.s2{stroke:#3fcfa5}.s3{stroke:#e8a0c8}
.f0{fill:#56b4e9}.f1{fill:#f0a860}.f2{fill:#3fcfa5}.f3{fill:#e8a0c8}}`;

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const rounded = (value) => Math.round(value * 10) / 10;

/** A number in few characters: `0.01`, `20`, `3k`, `10M`. */
export function short(value) {
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
  if (value >= 1e3) return `${Number((value / 1e3).toPrecision(3))}k`;
  return String(Number(value.toPrecision(3)));
}

/**
 * Draws lines over two logarithmic axes, and a thin dashed one that grows as its work does: what is steeper, bends.
 *
 * @param plot.title what it shows @param plot.description the same in a sentence, with what follows
 * @param plot.xLabel, plot.yLabel what the axes have; @param plot.xText a value of the x axis as text
 * @param plot.work the power by which the work of the first line grows: 1 in proportion, 0 not at all
 * @param plot.lines `name` and `points`, each [x, y], both above 0, at most four
 * @returns SVG text
 */
export function logLogPlot({ title, description, xLabel, yLabel, xText = short, work = 1, lines }) {
  const all = lines.flatMap(({ points }) => points);
  const decades = (values) => [Math.floor(Math.log10(Math.min(...values)) + 1e-9), Math.ceil(Math.log10(Math.max(...values)) - 1e-9)];
  const xs = [...new Set(all.map(([x]) => x))].sort((a, b) => a - b);
  const [lowest, highest] = decades(all.map(([, y]) => y));
  const top = Math.max(highest, lowest + 1);
  const [xFrom, xTo] = [Math.log10(xs[0]), Math.max(Math.log10(xs.at(-1)), Math.log10(xs[0]) + 1)];
  const xAt = (x) => rounded(area.left + ((Math.log10(x) - xFrom) / (xTo - xFrom)) * (area.right - area.left));
  const yAt = (y) => rounded(area.bottom - ((Math.log10(y) - lowest) / (top - lowest)) * (area.bottom - area.top));

  const grid = [];
  for (const x of xs) {
    grid.push(`<path class="grid" d="M${xAt(x)} ${area.top}V${area.bottom}"/>`);
    grid.push(`<text class="small" x="${xAt(x)}" y="${area.bottom + 18}" text-anchor="middle">${escaped(xText(x))}</text>`);
  }
  for (let power = lowest; power <= top; power++) {
    const y = yAt(10 ** power);
    grid.push(`<path class="grid" d="M${area.left} ${y}H${area.right}"/>`);
    grid.push(`<text class="small" x="${area.left - 8}" y="${y + 4}" text-anchor="end">${short(10 ** power)}</text>`);
  }

  // Through the last point of the first line, as far down as there is room.
  const [lastX, lastY] = lines[0].points.at(-1);
  const fromX = work === 0 ? xs[0] : Math.max(xs[0], lastX * (10 ** lowest / lastY) ** (1 / work));
  const fromY = lastY * (fromX / lastX) ** work;
  const reference = `<path class="reference" d="M${xAt(fromX)} ${yAt(fromY)}L${xAt(lastX)} ${yAt(lastY)}"/>`;

  const drawn = lines.map(({ points }, index) => {
    const places = points.map(([x, y]) => [xAt(x), yAt(y)]);
    const line = `<path class="line s${index}" d="M${places.map((place) => place.join(' ')).join('L')}"/>`;
    return `${line}<g class="f${index}">${places.map(([x, y]) => shapes[index](x, y)).join('')}</g>`;
  });
  const legend = lines.map(({ name }, index) => {
    const y = area.top + 12 + index * 24;
    return `<g class="f${index}">${shapes[index](area.right + 20, y)}</g><text x="${area.right + 32}" y="${y + 4}">${escaped(name)}</text>`;
  });
  const note = area.top + 12 + lines.length * 24;
  legend.push(
    `<path class="reference" d="M${area.right + 12} ${note}h16"/><text x="${area.right + 32}" y="${note + 4}">in step with its work</text>`,
  );

  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title description">
<title id="title">${escaped(title)}</title>
<desc id="description">${escaped(description)}</desc>
<style>${style}</style>
<rect class="page" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="6"/>
<text x="${area.left}" y="24" font-weight="600">${escaped(title)}</text>
${grid.join('\n')}
<text class="small" x="${(area.left + area.right) / 2}" y="${height - 14}" text-anchor="middle">${escaped(xLabel)}</text>
<text class="small" transform="translate(20 ${(area.top + area.bottom) / 2})rotate(-90)" text-anchor="middle">${escaped(yLabel)}</text>
${reference}
${drawn.join('\n')}
${legend.join('\n')}
</svg>
`;
}
