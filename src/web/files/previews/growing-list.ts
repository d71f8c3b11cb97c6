import { make, makeButton } from '../../shared/dom.ts';
import { previewText } from './preview-text.ts';

/** Builds a list that shows only its first items, with a button at its end that shows more. */
export async function growingList(
  { next, isAtEnd }: { next: () => HTMLElement[] | Promise<HTMLElement[]>; isAtEnd: () => boolean },
  className = '',
): Promise<HTMLElement> {
  const list = make('ul', { className });
  const button = makeButton(previewText('showMore'), 'down', () => void grow());
  const last = make('li.more', button);
  const grow = async () => {
    button.disabled = true;
    const added = await next();
    // In some browsers, a button that is disabled loses the focus to the body. If the button had the focus, the first new item gets it.
    const hadFocus = last.isConnected && (document.activeElement === button || document.activeElement === document.body);
    last.remove();
    button.disabled = false;
    list.append(...added);
    if (!isAtEnd()) list.append(last);
    const [first] = added;
    if (!hadFocus || !first) return;
    first.tabIndex = -1;
    first.focus();
  };
  await grow();
  return list;
}
