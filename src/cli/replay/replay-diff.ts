import { comparedRequests } from '../../webhooks/replay/compared-requests.ts';
import type { RequestDifference } from '../../webhooks/replay/replay-schemas.ts';
import type { WebhookHandler } from '../../webhooks/webhook-handler.ts';
import { exitCode } from '../exit-codes.ts';
import type { BadLines } from '../journal/bad-lines.ts';
import type { SelectionOptions } from '../journal/event-selection.ts';
import type { Journal } from '../journal/journal-shape.ts';
import { complain, count, paint, print } from '../output.ts';

/**
 * Prints what today's configuration would send differently from what was recorded; sends nothing.
 *
 * @returns 0 when nothing differs, 1 when something does or a line was malformed
 */
export async function diffRequests(
  journal: Journal,
  handlers: readonly WebhookHandler[],
  options: SelectionOptions & { json?: boolean },
  bad: BadLines,
): Promise<number> {
  let compared = 0;
  let different = 0;
  const compare = async () => {
    for await (const difference of comparedRequests(journal, handlers, options, bad)) {
      compared++;
      if (difference.differences.length === 0) continue;
      different++;
      print(options.json ? JSON.stringify(difference) : differenceText(difference));
    }
  };
  await bad.unlessEnded(compare());
  complain(`${count(compared, 'request')} compared, ${different} different${bad.count > 0 ? `, ${bad.summary}` : ''}`);
  return different > 0 || bad.isFailure ? exitCode.no : exitCode.done;
}

function differenceText({ handler, events: [first], differences }: RequestDifference): string {
  return [
    paint(process.stdout, 'bold', `${handler} ${first?.id} ${first?.uuid}`),
    ...differences.map((line) => paint(process.stdout, line.startsWith('-') ? 'red' : 'green', line)),
    '',
  ].join('\n');
}
