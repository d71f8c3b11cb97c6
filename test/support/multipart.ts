/** A field of a form. If it has a file name, it is a file. */
export type FormPart = [name: string, value: string | Buffer, fileName?: string];

export const formBoundary = 'b0undary';

/**
 * Returns the body of a form as browsers send it. The caller must escape control characters and quotes in file names (HTML, "multipart form
 * data").
 */
export function multipart(parts: readonly FormPart[]): { body: Buffer; type: string } {
  const pieces = parts.flatMap(([name, value, fileName]) => [
    `--${formBoundary}\r\nContent-Disposition: form-data; name="${name}"${fileName === undefined ? '' : `; filename="${fileName}"`}\r\n\r\n`,
    value,
    '\r\n',
  ]);
  const body = Buffer.concat([...pieces, `--${formBoundary}--\r\n`].map((piece) => Buffer.from(piece)));
  return { body, type: `multipart/form-data; boundary=${formBoundary}` };
}
