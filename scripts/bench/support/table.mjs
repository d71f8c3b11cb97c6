// Results as Markdown: medians with their spread, and svc against its targets, round by round.
import { readFileSync, writeFileSync } from 'node:fs';
import { median } from './machine.mjs';

/** @param runs what the rounds gave: `value`, and CPU where it was measured */
export function cell(runs) {
  if (!runs) return '–';
  const values = runs.map(({ value }) => value).sort((a, b) => a - b);
  const [least, most] = [values[0], values.at(-1)];
  const cpu =
    runs[0].cpuUs !== undefined
      ? ` · ${median(runs.map((one) => one.cpuUs)).toFixed(0)} µs`
      : runs[0].cpuS !== undefined
        ? ` · ${median(runs.map((one) => one.cpuS)).toFixed(2)} s`
        : '';
  return `**${number(median(values))}** [${number(least)}–${number(most)}]${cpu}`;
}

function number(value) {
  return value < 100 ? value.toFixed(1) : Math.round(value).toLocaleString('en');
}

/** The median over the rounds of what svc did for each that the peer did. */
export function ratio(mine, theirs) {
  return median(mine.map(({ value }, round) => value / theirs[round].value));
}

export function table(head, rows) {
  return [`| ${head.join(' | ')} |`, `|${head.map(() => '---').join('|')}|`, ...rows.map((row) => `| ${row.join(' | ')} |`)].join('\n');
}

/** Puts a text between the marks `<!-- MARK:start -->` and `<!-- MARK:end -->` of a page. */
export function writeBetween(path, mark, text) {
  const page = readFileSync(path, 'utf8');
  const [start, end] = [`<!-- ${mark}:start -->`, `<!-- ${mark}:end -->`];
  if (!page.includes(start) || !page.includes(end)) throw new Error(`${path} has no ${start} and ${end}`);
  writeFileSync(path, `${page.slice(0, page.indexOf(start))}${start}\n${text}\n${page.slice(page.indexOf(end))}`);
}
