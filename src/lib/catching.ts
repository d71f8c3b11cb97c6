/**
 * Makes a listener that hands its exceptions to `onFault`: Node.js calls listeners by itself, and an uncaught exception would end the process.
 *
 * @param onFault gets the arguments of the action too; must not throw
 */
export function catching<Args extends unknown[]>(
  action: (...args: Args) => void,
  onFault: (error: unknown, ...args: Args) => void,
): (...args: Args) => void {
  return (...args) => {
    try {
      action(...args);
    } catch (error) {
      onFault(error, ...args);
    }
  };
}
