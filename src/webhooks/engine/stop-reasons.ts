/** Formats the reason why a handler is paused. */
export function pausedBy(name: string): string {
  return `paused by ${name}`;
}

/** Formats the reason of a handler that stopped after too many failures. */
export function failedInRow(failures: number): string {
  return failures === 1 ? '1 delivery failed in a row' : `${failures} deliveries failed in a row`;
}

/** The other reasons why a handler does not run. They are fixed texts. */
export const stopReasons = { fault: 'an internal error, see the log', 'no-node': 'no node delivers for it at present' } as const;

/** The codes of the reasons. `failures` has the number of failures as its value, and `paused` the name of the operator. */
export const stopCodes = ['failures', 'paused', 'fault', 'no-node'] as const;
export type StopCode = (typeof stopCodes)[number];

/**
 * Finds the code and the value of a reason, for translations. Nodes exchange only the text of a reason, and pauses are stored with it.
 *
 * @returns undefined for a reason without a code, such as an error of Redis
 */
export function parseStopReason(reason: string): { code: StopCode; value: string } | undefined {
  const [, failures] = /^(\d+) deliver(?:y|ies) failed in a row$/.exec(reason) ?? [];
  if (failures !== undefined) return { code: 'failures', value: failures };
  if (reason.startsWith(pausedBy(''))) return { code: 'paused', value: reason.slice(pausedBy('').length) };
  const code = (['fault', 'no-node'] as const).find((known) => stopReasons[known] === reason);
  return code && { code, value: '' };
}
