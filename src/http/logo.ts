import { readFileSync, statSync } from 'node:fs';
import { extname } from 'node:path';
import { isServiceError, ServiceError } from '../lib/errors.ts';

/** Largest logo, in bytes: every visitor loads it. */
const logoLimitBytes = 512 * 1024;

const logoTypes: Readonly<Record<string, string>> = {
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.webp': 'image/webp',
};

export interface Logo {
  type: string;
  content: Buffer;
}

/**
 * Reads a logo.
 *
 * @throws ServiceError `bad-request` saying what is wrong with it
 */
export function readLogo(path: string): Logo {
  const type = logoTypes[extname(path).toLowerCase()];
  if (!type) throw new ServiceError('bad-request', 'the logo must be an SVG, PNG, JPEG or WebP file');
  try {
    if (statSync(path).size > logoLimitBytes) throw new ServiceError('bad-request', `the logo is larger than ${logoLimitBytes} bytes`);
    return { type, content: readFileSync(path) };
  } catch (error) {
    if (isServiceError(error)) throw error;
    throw new ServiceError('bad-request', `the logo cannot be read: ${(error as Error).message}`, { cause: error });
  }
}
