/** Separators between values. If several fit equally well, the first one is used. */
const separators = [',', ';', '\t', '|'];

/** Number of records that are used to guess the separator. */
const guessedBy = 20;

interface SeparatedValues {
  /** The first records of the text. They can have different numbers of values. */
  records: string[][];
  isCut: boolean;
}

/**
 * Reads up to `most` records of separated values (RFC 4180) with any usual separator and line end. Text after a closing quote belongs to
 * the value.
 * @param isWhole whether the text is the whole file. If it is not, the last record is perhaps incomplete, so it is omitted
 */
export function readSeparatedValues(text: string, most: number, isWhole: boolean): SeparatedValues {
  // Excel can name the separator in an additional first line.
  const named = /^sep=(.)\r?\n/.exec(text);
  const body = named ? text.slice(named[0].length) : text;
  const reader = new Reader(body, named?.[1] ?? likelySeparator(body));
  const records = reader.read(most);
  if (reader.isAtEnd && !isWhole && records.length > 1) records.pop();
  return { records, isCut: !reader.isAtEnd || !isWhole };
}

/** Returns the separator with which the largest share of the records has as many values as the first record. */
function likelySeparator(text: string): string {
  let best = { separator: ',', score: 0 };
  for (const separator of separators) {
    const records = new Reader(text, separator).read(guessedBy);
    const width = records[0]?.length ?? 0;
    const score = width > 1 ? records.filter((record) => record.length === width).length / records.length : 0;
    if (score > best.score) best = { separator, score };
  }
  return best.separator;
}

class Reader {
  readonly #text: string;
  readonly #separator: string;
  readonly #plain: RegExp;
  #at = 0;

  constructor(text: string, separator: string) {
    this.#text = text;
    this.#separator = separator;
    this.#plain = new RegExp(`[^${separator === '|' ? '\\|' : separator}\\r\\n]*`, 'y');
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  read(most: number): string[][] {
    const records: string[][] = [];
    while (records.length < most && !this.isAtEnd) records.push(this.#record());
    return records;
  }

  #record(): string[] {
    const values = [this.#value()];
    while (this.#text[this.#at] === this.#separator) {
      this.#at++;
      values.push(this.#value());
    }
    if (this.#text[this.#at] === '\r') this.#at++;
    if (this.#text[this.#at] === '\n') this.#at++;
    return values;
  }

  #value(): string {
    return (this.#text[this.#at] === '"' ? this.#quoted() : '') + this.#unquoted();
  }

  #unquoted(): string {
    this.#plain.lastIndex = this.#at;
    const value = this.#plain.exec(this.#text)?.[0] ?? '';
    this.#at += value.length;
    return value;
  }

  #quoted(): string {
    let value = '';
    for (this.#at++; !this.isAtEnd; ) {
      const quote = this.#text.indexOf('"', this.#at);
      const end = quote < 0 ? this.#text.length : quote;
      value += this.#text.slice(this.#at, end);
      this.#at = end + 1;
      if (this.#text[this.#at] !== '"') return value;
      value += '"';
      this.#at++;
    }
    return value;
  }
}
