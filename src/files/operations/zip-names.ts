// What Windows takes for more than a name: `\` parts folders, `C:` leads to a drive.
const unsafePart = /\\|^[a-z]:/i;

/** A name that no program for archives takes for a path: `\` and the `:` of a drive prefix become `_`. */
export function safeName(name: string): string {
  return unsafePart.test(name) ? name.replaceAll('\\', '_').replace(/^([a-z]):/i, '$1_') : name;
}

/**
 * The names that members of one folder have in an archive: `safeName`, and where that is taken ` (2)`, ` (3)` and so on before
 * the extension. Names that are safe stay as they are.
 *
 * @param names names of the members, each once; their order says nothing
 * @returns new names by name, of those alone that change
 */
export function archiveNames(names: readonly string[]): ReadonlyMap<string, string> {
  const unsafe = names.filter((name) => unsafePart.test(name)).sort();
  if (unsafe.length === 0) return new Map();
  const taken = new Set(names);
  const lastNumbers = new Map<string, number>();
  const changed = new Map<string, string>();
  for (const name of unsafe) {
    const wanted = safeName(name);
    let free = wanted;
    let number = lastNumbers.get(wanted) ?? 1;
    while (taken.has(free)) free = numbered(wanted, ++number);
    lastNumbers.set(wanted, number);
    taken.add(free);
    changed.set(name, free);
  }
  return changed;
}

function numbered(name: string, number: number): string {
  const dot = name.lastIndexOf('.');
  return dot > 0 ? `${name.slice(0, dot)} (${number})${name.slice(dot)}` : `${name} (${number})`;
}
