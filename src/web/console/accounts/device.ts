/**
 * Browsers, each with a pattern for its user agent. The first pattern that matches counts, because the user agent of a browser often names
 * other browsers, too.
 */
const browsers = [
  ['Edge', /\bEdg(?:A|iOS)?\/(\d+)/],
  ['Opera', /\bOPR\/(\d+)/],
  ['Samsung Internet', /\bSamsungBrowser\/(\d+)/],
  ['Firefox', /\b(?:Firefox|FxiOS)\/(\d+)/],
  ['Chrome', /\b(?:Chrome|CriOS)\/(\d+)/],
  ['Safari', /\bAppleWebKit\b.*\bSafari\//],
] as const;

const systems = [
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Android', /\bAndroid\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b|\bMacintosh\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Linux', /\bLinux\b|\bX11\b/],
] as const;

/** A name and a version, such as `curl/8.5.0`, `OpenSSH_9.7p1` or `WinSCP_release_6.3.3`. */
const program = /^([A-Za-z][\w-]{0,30}?)[/_-](?:release_)?v?(\d+(?:\.\d+)?)/i;

const maxLength = 40;

/**
 * Names the program of a client as the client itself states it: browser and system, or program and version.
 *
 * @param client a `User-Agent`, or the version of an SSH client
 * @returns the name; if the program is unknown, the text itself, cut to 40 characters
 */
export function deviceName(client: string): string {
  const system = systems.find(([, pattern]) => pattern.test(client))?.[0];
  for (const [name, pattern] of browsers) {
    const match = pattern.exec(client);
    if (match) return [`${name} ${match[1] ?? ''}`.trim(), system].filter(Boolean).join(' · ');
  }
  const text = client.replace(/^SSH-[\d.]+-/, '');
  const [, name, version] = (text.startsWith('Mozilla/') ? undefined : program.exec(text)) ?? [];
  if (name !== undefined) return `${name} ${version}`;
  const characters = [...text];
  return characters.length > maxLength ? `${characters.slice(0, maxLength - 1).join('')}…` : text;
}
