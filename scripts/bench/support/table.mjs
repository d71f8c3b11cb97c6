// Formats results as Markdown.
import { readFileSync, writeFileSync } from 'node:fs';
import { median } from './machine.mjs';

/**
 * Returns the text of a table's cell: the medians over the rounds, the note, and the number of failed rounds.
 *
 * @param runs a run has `value`, and perhaps CPU time (`cpuUs` or `cpuS`) and `note`; a failed run has `fault`
 */
export function cell(runs) {
  if (!runs || runs.length === 0) return '–';
  const whole = runs.filter(({ fault }) => fault === undefined);
  const failed = whole.length < runs.length ? `${runs.length - whole.length} of ${runs.length} failed` : '';
  if (whole.length === 0) return failed;
  const middle = (member) => whole[0][member] !== undefined && median(whole.map((one) => one[member]));
  const cpu = middle('cpuUs') ? `${middle('cpuUs').toFixed(0)} µs` : middle('cpuS') ? `${middle('cpuS').toFixed(2)} s` : '';
  return [number(middle('value')), cpu, whole[0].note, failed].filter(Boolean).join(' · ');
}

/** Returns the minimum and maximum of the rounds' values. */
export function spread(runs) {
  const values = runs.flatMap(({ value }) => value ?? []);
  return values.length > 0 ? `[${number(Math.min(...values))}–${number(Math.max(...values))}]` : '';
}

function number(value) {
  return value < 100 ? value.toFixed(1) : Math.round(value).toLocaleString('en');
}

/** Returns the median, over the rounds, of the ratio of one server's value to another's; undefined if no round has values of both. */
export function ratio(mine, theirs, member = 'value') {
  const each = mine.map((one, round) => one[member] / theirs[round]?.[member]).filter((one) => !Number.isNaN(one));
  return each.length > 0 ? median(each) : undefined;
}

export function table(head, rows) {
  return [`| ${head.join(' | ')} |`, `|${head.map(() => '---').join('|')}|`, ...rows.map((row) => `| ${row.join(' | ')} |`)].join('\n');
}

/** Returns a line about programs that are not installed. The list is empty if all are installed. */
export function leftOut(programs) {
  return programs.length > 0 ? ['', `Left out, as not installed: ${programs.join(', ')}.`] : [];
}

/** Returns lines about failed rounds. The list is empty if none failed. */
export function failures(faults) {
  return faults.length > 0 ? ['', 'Failed, and left out of the figures:', '', ...faults.map((fault) => `- ${fault}`)] : [];
}

/** Puts a text between the marks `<!-- MARK:start -->` and `<!-- MARK:end -->` of a page. */
export function writeBetween(path, mark, text) {
  const page = readFileSync(path, 'utf8');
  const [start, end] = [`<!-- ${mark}:start -->`, `<!-- ${mark}:end -->`];
  if (!page.includes(start) || !page.includes(end)) throw new Error(`${path} has no ${start} and ${end}`);
  writeFileSync(path, `${page.slice(0, page.indexOf(start))}${start}\n${text}\n${page.slice(page.indexOf(end))}`);
}
