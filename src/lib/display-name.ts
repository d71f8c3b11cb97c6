/** Invisible characters that change how a name is read: direction marks, characters without width, and C1 controls. */
const unseen = /[\u0080-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Replaces invisible characters by their codes, so that a program named `photo-<U+202E>gnp.exe` cannot look like a picture. */
export function escapeInvisible(name: string): string {
  return name.replace(unseen, (character) => `[U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}]`);
}

/** Replaces control characters by visible symbols (U+2400 to U+2421). */
export function visibleControls(text: string): string {
  return text
    .replace(/[\u0000-\u001f]/g, (character) => String.fromCharCode(0x2400 + character.charCodeAt(0)))
    .replace(/\u007f/g, '\u2421');
}

/** Makes all characters of a name visible, so that it can be shown safely. */
export function displayName(name: string): string {
  return escapeInvisible(visibleControls(name));
}

/** Matches letters that are read from right to left. */
const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]|[\ud802\ud803\ud83a\ud83b]/;

/**
 * Isolates the direction of a name in a sentence, so that the name cannot change the direction of other words (U+2068 FIRST STRONG
 * ISOLATE).
 */
export function nameInText(name: string): string {
  const shown = displayName(name);
  return rightToLeft.test(shown) ? `\u2068${shown}\u2069` : shown;
}
