import type { Page } from 'playwright-core';

/** A film of some frames as WebM, as the browser itself records it. @param draw statements that draw the `frame` into `context` */
export function recordFilm(page: Page, width: number, height: number, draw: string): Promise<Buffer>;

/** Silence as a WAV file: 8,000 samples of one byte a second. */
export function silence(seconds: number): Buffer;
