/** Returns whether a program is in the PATH. */
export function isInstalled(program: string): boolean;
