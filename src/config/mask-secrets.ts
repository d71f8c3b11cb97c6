/** What holds a secret in a line of a configuration, mistyped too, but no `password_policy`: in front of it, then the secret. */
const places = [
  /(["']?\b(?:\w*(?:password|secret|token)(?!_)\w*|authorization)["']?\s*:\s*)(\[[^\]]*\]?|"(?:[^"\\]|\\.)*"?|'[^']*'?|[^\s,}\]]+)/gi,
  // A header line, as a text or as an item of a list.
  /((?:["']|^\s*-\s+)[A-Za-z][\w-]*:[ \t]+)([^"']+)/g,
  // The query of a URL, and what stands before its host.
  /(:\/\/[^\s"',?]*\?)([^\s"',}]+)/g,
  /(:\/\/)([^\s"',/@]+(?=@))/g,
];

/** Hides the secrets in a line of a configuration that is shown with a finding; its length stays, so that a caret still fits. */
export function maskSecrets(line: string): string {
  return places.reduce(
    (text, place) =>
      text.replace(place, (_, before: string, secret: string) => before + (isReference(secret) ? secret : '*'.repeat(secret.length))),
    line,
  );
}

/** A variable or a file that holds the secret is none itself; its default may be one. */
function isReference(text: string): boolean {
  return /^["']?\$\{(?:env:[^}:]*|file:[^}]*)\}?["']?$/.test(text);
}
