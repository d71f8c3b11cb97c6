import { html } from './html.ts';
import { layout, type PageModel } from './layout.ts';
import type { PageContext } from './page-context.ts';

/** The page on which people change their own password. */
export function passwordPage(context: PageContext, model: { problems: readonly string[]; account: PageModel['account'] }): string {
  const text = context.language;
  const body = html`<main class="card" id="main">
<h1>${text.text('changePassword')}</h1>
${model.problems.length > 0 && html`<div class="notice error" role="alert">${model.problems.map((problem) => html`<p>${problem}</p>`)}</div>`}
<form method="post" action="/home/__svc__/password-update">
<input class="hidden" name="username" autocomplete="username" value="${model.account?.name ?? ''}" readonly tabindex="-1" aria-hidden="true">
<label for="current">${text.text('currentPassword')}</label>
<input id="current" name="current_password" type="password" autocomplete="current-password" required autofocus>
<label for="new">${text.text('newPassword')}</label>
<input id="new" name="new_password" type="password" autocomplete="new-password" required>
<label for="repeat">${text.text('repeatPassword')}</label>
<input id="repeat" name="repeat_password" type="password" autocomplete="new-password" required>
<p class="hint">${text.text('othersSignedOut')}</p>
<div class="row"><a class="button" href="/home/">${text.text('cancel')}</a> <button type="submit" class="primary">${text.text('changePassword')}</button></div>
</form>
</main>`;
  return layout(context, { title: text.text('changePassword'), body, account: model.account });
}
