/** Whether a program is on the PATH. */
export function isInstalled(program: string): boolean;
