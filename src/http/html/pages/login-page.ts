import { html } from './html.ts';
import { layout } from './layout.ts';
import type { PageContext } from './page-context.ts';

/** What the login page shows. */
export interface LoginModel {
  message?: string | undefined;
  next?: string | undefined;
  userName?: string | undefined;
}

/** The login page. */
export function loginPage(context: PageContext, model: LoginModel): string {
  const text = context.language;
  const body = html`<main class="card" id="main">
<h1>${text.text('signIn')}</h1>
${model.message !== undefined && html`<p class="notice error" role="alert">${model.message}</p>`}
<form method="post" action="/__svc__/login">
${model.next !== undefined && html`<input type="hidden" name="next" value="${model.next}">`}
<label for="username">${text.text('userName')}</label>
<input id="username" name="username" autocomplete="username" autocapitalize="none" spellcheck="false" required${!model.userName && html` autofocus`} value="${model.userName ?? ''}">
<label for="password">${text.text('password')}</label>
<input id="password" name="password" type="password" autocomplete="current-password" required${!!model.userName && html` autofocus`}>
<button type="submit" class="primary">${text.text('signIn')}</button>
</form>
</main>`;
  return layout(context, { title: text.text('signIn'), body });
}
