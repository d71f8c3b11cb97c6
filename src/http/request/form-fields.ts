import { Busboy, type BusboyFileStream } from '@fastify/busboy';
import { catching } from '../../lib/catching.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Exchange } from './exchange.ts';
import { mediaTypeOfRequest } from './reply-format.ts';
import { listenToBody, readSmallForm, smallBodyLimitBytes } from './request-body.ts';

/** Limits of one form, with sizes in bytes. A larger form is an attack or a mistake. */
const limits = { fields: 20_000, fieldNameSize: 200, fieldSize: 4096, files: 10_000, parts: 30_000, headerPairs: 50 };

/** Fields of a form, each with its values in order. */
export class FormFields {
  readonly #values = new Map<string, string[]>();

  add(name: string, value: string): void {
    const values = this.#values.get(name);
    if (values) values.push(value);
    else this.#values.set(name, [value]);
  }

  all(name: string): readonly string[] {
    return this.#values.get(name) ?? [];
  }

  /** Returns the only value of a field. @throws ServiceError `bad-request` if the form has several different values for it */
  one(name: string): string | undefined {
    const values = this.all(name);
    if (new Set(values).size > 1) throw new ServiceError('bad-request', `The form has several different values for the field "${name}".`);
    return values[0];
  }
}

/** A file of a form. `content` must be read to its end, or discarded with `resume`. */
export interface FormFile {
  field: string;
  fileName: string | undefined;
  content: BusboyFileStream;
}

/**
 * Reads a form, sent as `multipart/form-data` or URL-encoded. Its files are read as streams, one after the other.
 *
 * @param onFile called for each file, with the fields that precede it. The next file follows once the returned promise resolves
 * @throws ServiceError `bad-request` for a malformed form, `too-large`, `client-gone`
 */
export async function readForm(exchange: Exchange, onFile: (file: FormFile, fields: FormFields) => Promise<void>): Promise<FormFields> {
  if (mediaTypeOfRequest(exchange) === 'multipart/form-data') return readMultipart(exchange, onFile);
  const fields = new FormFields();
  const pairs = await readSmallForm(exchange, smallBodyLimitBytes);
  if (pairs.size > limits.fields) throw new ServiceError('too-large', 'The form has too many fields.');
  for (const [name, value] of pairs) fields.add(name, value);
  return fields;
}

const tooMany = [
  ['fieldsLimit', 'fields'],
  ['filesLimit', 'files'],
  ['partsLimit', 'parts'],
] as const;

function readMultipart(exchange: Exchange, onFile: (file: FormFile, fields: FormFields) => Promise<void>): Promise<FormFields> {
  const { body } = exchange;
  const fields = new FormFields();
  const parser = createParser(exchange);
  return new Promise((resolve, reject) => {
    let running: Promise<void> = Promise.resolve();
    let isOver = false;
    const stop = (error: unknown) => {
      if (isOver) return;
      isOver = true;
      stopListening();
      // Without this, the receiver of the current file would wait for ever.
      current?.destroy(error as Error);
      parser.destroy();
      void running.catch(() => {}).then(() => reject(error));
    };
    let current: BusboyFileStream | undefined;
    let stopListening = () => {};
    const on = <Args extends unknown[]>(event: string, listener: (...args: Args) => void) =>
      (parser as NodeJS.EventEmitter).on(event, catching(listener, (error, ..._: Args) => stop(error)) as (...args: unknown[]) => void);
    for (const [event, what] of tooMany)
      on(event, () => {
        throw new ServiceError('too-large', `The form has too many ${what}.`);
      });
    on('field', (name: string, value: string, isNameCut: boolean, isValueCut: boolean) => {
      if (isNameCut || isValueCut) throw new ServiceError('too-large', 'The form has a field that is too long.');
      fields.add(name, value);
    });
    on('file', (field: string, content: BusboyFileStream, fileName: string | undefined) => {
      current = content;
      // A file that waits for its turn has no reader yet, so nothing else would handle its error.
      content.on('error', () => {});
      running = running.then(() => onFile({ field, fileName, content }, fields));
      running.catch(stop);
    });
    on('error', (error: unknown) => {
      throw new ServiceError('bad-request', `The form is malformed: ${(error as Error).message}`, { cause: error });
    });
    on('finish', () => {
      running.then(() => {
        // The parser emits `finish` after an error, too.
        if (isOver) return;
        isOver = true;
        resolve(fields);
      }, stop);
    });
    on('drain', () => body.resume());
    stopListening = listenToBody(exchange, {
      onData(chunk) {
        if (!parser.write(chunk)) body.pause();
      },
      onEnd: () => parser.end(),
      onFault: stop,
    });
  });
}

function createParser(exchange: Exchange): InstanceType<typeof Busboy> {
  try {
    return new Busboy({
      headers: exchange.incoming.headers as { 'content-type': string },
      limits,
      highWaterMark: 1024 * 1024,
      fileHwm: 1024 * 1024,
      // Keeps paths in names. `bareFileName` removes the paths, because it knows both kinds of separators.
      preservePath: true,
    });
  } catch (error) {
    throw new ServiceError('bad-request', `The form is malformed: ${(error as Error).message}`, { cause: error });
  }
}

/** Returns a file's own name without a path. Old browsers and clients send paths (`C:\dir\a.txt`, `../a.txt`), which are never followed. */
export function bareFileName(sent: string | undefined): string {
  return (sent ?? '').split(/[\\/]/).at(-1)?.trim() ?? '';
}
