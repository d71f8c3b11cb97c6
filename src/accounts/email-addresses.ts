/** One address of an account's `email`. */
export interface EmailAddress {
  /** The name that stands before the address; empty when none does. */
  name: string;
  address: string;
}

/** The addresses of an account's comma-separated `email`, in order: `Bob B <bob@example.com>, "Doe, Jane" <jane@example.com>`. */
export function emailAddresses(email: string): EmailAddress[] {
  return splitOutsideQuotes(email)
    .map(emailAddress)
    .filter(({ address }) => address !== '');
}

function emailAddress(text: string): EmailAddress {
  const open = text.lastIndexOf('<');
  if (open < 0 || !text.endsWith('>')) return { name: '', address: text };
  return { name: unquoted(text.slice(0, open).trim()), address: text.slice(open + 1, -1).trim() };
}

// A quoted name (RFC 5322 §3.2.4) may have commas of its own.
function splitOutsideQuotes(list: string): string[] {
  const items: string[] = [];
  let start = 0;
  let isQuoted = false;
  for (let at = 0; at < list.length; at++) {
    const character = list[at];
    if (isQuoted && character === '\\') at++;
    else if (character === '"') isQuoted = !isQuoted;
    else if (character === ',' && !isQuoted) {
      items.push(list.slice(start, at).trim());
      start = at + 1;
    }
  }
  return [...items, list.slice(start).trim()];
}

function unquoted(name: string): string {
  const isQuoted = name.length >= 2 && name.startsWith('"') && name.endsWith('"');
  return isQuoted ? name.slice(1, -1).replace(/\\(.)/g, '$1') : name;
}
