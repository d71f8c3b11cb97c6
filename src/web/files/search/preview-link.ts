import { kindOfFile } from '../file-kind.ts';
import { layerParameter } from '../navigation/folder.ts';

/** Has the link of a file that can be looked at lead to its preview in its folder. A sound is played from its folder alone. */
export function leadToPreview(link: HTMLAnchorElement): void {
  const [, folder = '', name = ''] = /^(.*\/)([^/]*)$/.exec(link.pathname) ?? [];
  const kind = name === '' ? undefined : kindOfFile(decodeURIComponent(name), [...link.classList]);
  if (kind !== undefined && kind !== 'audio') link.href = `${folder}?${layerParameter}=${name}`;
}
