/** Takes over the switch of colours, so that a choice needs no new page. */
export function startThemes(): void {
  const form = document.querySelector<HTMLFormElement>('form.theme');
  form?.addEventListener('submit', (event) => {
    const chosen = (event as SubmitEvent).submitter as HTMLButtonElement | null;
    if (!chosen) return;
    event.preventDefault();
    choose(chosen.value);
    for (const button of form.querySelectorAll('button')) button.setAttribute('aria-pressed', String(button === chosen));
  });
}

// The cookie has the service write the choice into the next page, which then shows no other colours first.
function choose(theme: string): void {
  const isSystem = theme === 'system';
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing in browsers that the page supports
  document.cookie = `SVC_THEME=${theme}; Path=/; SameSite=strict; Max-Age=${isSystem ? 0 : 31_536_000}`;
  if (isSystem) delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
