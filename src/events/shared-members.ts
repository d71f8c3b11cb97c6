/** Members that the `data` of many events begins with, such as the paths of a file that is read again and again. Their JSON is made once. */
export class SharedMembers {
  readonly members: Readonly<Record<string, unknown>>;
  #json: string | undefined;

  /** @param members at least one; none is undefined, and they are not changed any more */
  constructor(members: Readonly<Record<string, unknown>>) {
    this.members = members;
  }

  /**
   * The JSON of an object with these members and, behind them, others, byte for byte what `JSON.stringify` gives.
   *
   * @param others of other names
   */
  jsonWith(others: Readonly<Record<string, unknown>>): string {
    this.#json ??= JSON.stringify(this.members).slice(0, -1);
    const json = JSON.stringify(others);
    return json === '{}' ? `${this.#json}}` : `${this.#json},${json.slice(1)}`;
  }
}
