/**
 * A listener or callback whose faults end nothing but what it belongs to. Node.js calls such functions by itself: what they throw
 * would be an uncaught exception and end the process.
 *
 * @param onFault told of what the action threw, with the arguments that it had; must not throw
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
