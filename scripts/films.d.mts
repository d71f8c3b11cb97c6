import type { Page } from 'playwright-core';

/** Returns a film of some frames as WebM, recorded by the browser. @param draw statements that draw frame number `frame` into `context` */
export function recordFilm(page: Page, width: number, height: number, draw: string): Promise<Buffer>;

/** Returns silence as a WAV file, with 8,000 one-byte samples per second. @param seconds duration */
export function silence(seconds: number): Buffer;
