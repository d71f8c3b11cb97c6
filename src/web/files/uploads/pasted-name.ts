/** What browsers call a picture that was copied as such: a screenshot, or a part of a page. */
const namelessPicture = /^image\.(png|jpe?g|gif|webp|avif|bmp|tiff?)$/i;

/** How old such a picture is at most, in milliseconds: browsers make it when it is pasted. */
const justMadeMs = 5_000;

/** A name for what was pasted: that of the file, or one with the time for a picture that has none. */
export function pastedName({ name, lastModified }: Pick<File, 'name' | 'lastModified'>, nowMs: number, word: string): string {
  const extension = namelessPicture.exec(name)?.[1];
  if (extension === undefined || nowMs - lastModified > justMadeMs) return name;
  const at = new Date(nowMs);
  const two = (value: number) => String(value).padStart(2, '0');
  const date = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  // Without colons, which Windows takes in no name.
  const time = `${two(at.getHours())}.${two(at.getMinutes())}.${two(at.getSeconds())}`;
  return `${word} ${date} ${time}.${extension.toLowerCase()}`;
}
