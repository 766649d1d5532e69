import { DatabaseError } from '#core/errors.ts';
import { isMap, type Value, type ValueMap } from '#core/value/value.ts';
import { closestWord } from '#language/suggestion.ts';

/** The settings after WITH, taken one by one; what nobody took is refused by name. */
export class OperationSettings {
  readonly #what: string;
  readonly #given: Map<string, { readonly name: string; readonly value: Value }>;

  /** @param what as messages name it: `backup`, `export`, `import` */
  constructor(what: string, given: Value | undefined) {
    this.#what = what;
    this.#given = new Map();
    const map: ValueMap = given !== undefined && isMap(given) ? given : new Map();
    for (const [name, value] of map) this.#given.set(name.toLowerCase(), { name, value });
  }

  has(name: string): boolean {
    return this.#given.has(name.toLowerCase());
  }

  text(name: string): string | undefined {
    const value = this.#take(name);
    if (value === undefined || typeof value === 'string') return value;
    throw this.#refused(name, value, 'a text');
  }

  /** A text, or a number or boolean written as one. */
  word(name: string): string | undefined {
    const value = this.#take(name);
    if (value === undefined || typeof value === 'string') return value;
    if (typeof value === 'number' || typeof value === 'boolean') return String(value);
    throw this.#refused(name, value, 'a text');
  }

  flag(name: string): boolean | undefined {
    const value = this.#take(name);
    if (value === undefined || typeof value === 'boolean') return value;
    if (typeof value === 'string' && /^(true|false)$/i.test(value))
      return value.toLowerCase() === 'true';
    throw this.#refused(name, value, 'true or false');
  }

  /** A whole number, also as text. */
  integer(name: string, min: number, max: number): number | undefined {
    const value = this.#take(name);
    if (value === undefined) return undefined;
    const isDigits = typeof value === 'string' && /^-?\d{1,15}$/.test(value.trim());
    const number = isDigits ? Number(value) : value;
    if (typeof number === 'number' && Number.isInteger(number) && number >= min && number <= max)
      return number;
    throw this.#refused(name, value, `a whole number from ${min} to ${max}`);
  }

  map(name: string): ValueMap | undefined {
    const value = this.#take(name);
    if (value === undefined || isMap(value)) return value;
    throw this.#refused(name, value, 'a map');
  }

  textOrMap(name: string): string | ValueMap | undefined {
    const value = this.#take(name);
    if (value === undefined || typeof value === 'string' || isMap(value)) return value;
    throw this.#refused(name, value, 'a map or a text');
  }

  /** @throws DatabaseError `IllegalArgument` `Unsupported <what> setting '<name>'` */
  requireNoOther(supported: readonly string[]): void {
    for (const { name } of this.#given.values()) {
      const meant = closestWord(name, supported);
      throw new DatabaseError(
        'IllegalArgument',
        `Unsupported ${this.#what} setting '${name}'. Supported settings are: ${supported.join(', ')}`,
        meant === undefined ? {} : { help: `did you mean '${meant}'?` },
      );
    }
  }

  #take(name: string): Value | undefined {
    const key = name.toLowerCase();
    const found = this.#given.get(key);
    this.#given.delete(key);
    return found?.value ?? undefined;
  }

  #refused(name: string, value: Value, expected: string): DatabaseError {
    const isShown = typeof value === 'number' || typeof value === 'boolean';
    const shown = isShown ? ` '${value}'` : '';
    return new DatabaseError(
      'IllegalArgument',
      `the value${shown} of ${this.#what} setting '${name}' is not ${expected}`,
    );
  }
}
