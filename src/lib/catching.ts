/**
 * Creates a listener that passes its exceptions to `onFault`. Node.js calls listeners itself, so an exception in one would end the process.
 *
 * @param onFault gets the error and the arguments of the action; must not throw
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
