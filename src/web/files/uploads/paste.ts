import { text } from '../language.ts';
import { pastedName } from './pasted-name.ts';
import type { Upload } from './upload.ts';

/** Takes files and pictures that are pasted anywhere but into a field. @param take takes them while the event is handled */
export function startPaste(take: (transfer: DataTransfer, rename: (upload: Upload) => void) => void): void {
  document.addEventListener('paste', (event) => {
    const { clipboardData, target } = event;
    const isTyping = target instanceof Element && target.matches('input:not([type="checkbox"]), textarea');
    if (!clipboardData?.types.includes('Files') || isTyping || document.querySelector('dialog[open]')) return;
    event.preventDefault();
    take(clipboardData, (upload) => {
      upload.name = pastedName(upload.file, Date.now(), text('screenshot'));
    });
  });
}
