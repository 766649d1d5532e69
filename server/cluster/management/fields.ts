import { DatabaseError } from '#core/errors.ts';

/** The fields of a management call, checked strictly: what is not known is refused by name. */
export class Fields {
  readonly #given: ReadonlyMap<string, unknown>;

  /** @throws DatabaseError `IllegalArgument` for a field that is none of `known` */
  constructor(given: ReadonlyMap<string, unknown>, known: readonly string[]) {
    this.#given = given;
    for (const name of given.keys())
      if (!known.includes(name))
        throw wrong(`Unknown field '${name.slice(0, 60)}'; use ${known.join(', ') || 'none'}`);
  }

  text(name: string): string | undefined {
    const value = this.#value(name);
    if (value === undefined) return undefined;
    if (typeof value !== 'string') throw wrong(`Field '${name}' must be a text`);
    const trimmed = value.trim();
    if (trimmed === '' || trimmed.length > 512 || /[\u0000-\u001f\u007f]/.test(trimmed))
      throw wrong(`Field '${name}' must have 1 to 512 printable characters`);
    return trimmed;
  }

  requiredText(name: string): string {
    const value = this.text(name);
    if (value === undefined) throw wrong(`Field '${name}' is missing`);
    return value;
  }

  integer(name: string, min: number, max = Number.MAX_SAFE_INTEGER): number | undefined {
    const value = this.#value(name);
    if (value === undefined) return undefined;
    const number = typeof value === 'bigint' ? Number(value) : value;
    if (
      typeof number === 'number' &&
      Number.isSafeInteger(number) &&
      number >= min &&
      number <= max
    )
      return number;
    throw wrong(`Field '${name}' must be a whole number from ${min} to ${max}`);
  }

  flag(name: string): boolean | undefined {
    const value = this.#value(name);
    if (value === undefined || typeof value === 'boolean') return value;
    throw wrong(`Field '${name}' must be true or false`);
  }

  texts(name: string): readonly string[] | undefined {
    const value = this.#value(name);
    if (value === undefined) return undefined;
    if (Array.isArray(value) && value.every((item) => typeof item === 'string' && item !== ''))
      return value as string[];
    throw wrong(`Field '${name}' must be a list of texts`);
  }

  #value(name: string): unknown {
    return this.#given.get(name) ?? undefined;
  }
}

export function wrong(message: string): DatabaseError {
  return new DatabaseError('IllegalArgument', message);
}
