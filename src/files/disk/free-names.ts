/** So many are kept, of all folders together. */
const mostNames = 256;

/** Names of temporary files that are in a record and that nothing has any more: who takes one need not write another. */
export class FreeNames {
  readonly #byFolder = new Map<string, string[]>();
  #count = 0;

  /** Takes a name out. @param folder real path */
  take(folder: string): string | undefined {
    const names = this.#byFolder.get(folder);
    if (!names) return undefined;
    if (names.length === 1) this.#byFolder.delete(folder);
    this.#count--;
    return names.pop();
  }

  /** Keeps a name, as long as there is room. */
  keep(folder: string, name: string): void {
    if (this.#count >= mostNames) return;
    const names = this.#byFolder.get(folder);
    if (names) names.push(name);
    else this.#byFolder.set(folder, [name]);
    this.#count++;
  }

  clear(): void {
    this.#byFolder.clear();
    this.#count = 0;
  }
}
