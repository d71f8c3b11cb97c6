import { html } from './html.ts';
import { layout } from './layout.ts';

/** A page with one message, for errors and redirects. */
export function messagePage(model: { title: string; message: string; refreshTo?: string | undefined }): string {
  const body = html`<main class="card">
<h1>${model.title}</h1>
<p>${model.message}</p>
<p><a href="${model.refreshTo ?? '/home/'}">${model.refreshTo === undefined ? 'To the files' : 'Go on'}</a></p>
</main>`;
  return layout({ title: model.title, body, refreshTo: model.refreshTo });
}
