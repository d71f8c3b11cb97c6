/** Has a choice of the language kept in its cookie, and the page made anew in it. */
export function startLanguages(): void {
  document.querySelector('form.language')?.addEventListener('submit', (event) => {
    event.preventDefault();
    const chosen = (event as SubmitEvent).submitter as HTMLButtonElement | null;
    if (!chosen) return;
    // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing in browsers that the page supports
    document.cookie = `SVC_LANGUAGE=${chosen.value}; Path=/; SameSite=strict; Max-Age=31536000`;
    location.reload();
  });
}
