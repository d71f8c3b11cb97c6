import type { Plugin } from 'esbuild';

/** The scripts of a page by their file names. @param main path of the module with which the first one begins */
export function pageScripts(main: string, plugins: readonly Plugin[]): Promise<{ files: Record<string, string> }>;
