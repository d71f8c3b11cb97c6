import { html } from './html.ts';
import { layout } from './layout.ts';

/** The login page. */
export function loginPage(model: { message?: string | undefined; next?: string | undefined; userName?: string | undefined }): string {
  const body = html`<main class="card">
<h1>Sign in</h1>
${model.message !== undefined && html`<p class="notice error" role="alert">${model.message}</p>`}
<form method="post" action="/__svc__/login">
${model.next !== undefined && html`<input type="hidden" name="next" value="${model.next}">`}
<label for="username">User name</label>
<input id="username" name="username" autocomplete="username" autocapitalize="none" spellcheck="false" required autofocus value="${model.userName ?? ''}">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required>
<button type="submit" class="primary">Sign in</button>
</form>
</main>`;
  return layout({ title: 'Sign in', body });
}
