import type { Plugin } from 'esbuild';

/** Returns the scripts of a page by file name. @param main path of the entry module of the first script */
export function pageScripts(main: string, plugins: readonly Plugin[]): Promise<{ files: Record<string, string> }>;
