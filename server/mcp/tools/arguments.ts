import type { Value, ValueMap } from '#core/value/value.ts';
import { integerOf, isObject, numberOf } from '../protocol/json-rpc.ts';
import { ToolFailure } from './tool-failure.ts';

/** The arguments of a tool, checked one by one. Unknown ones are ignored; null is absent. */
export class Arguments {
  readonly #given: ValueMap;

  constructor(given: ValueMap) {
    this.#given = given;
  }

  value(name: string): Value | undefined {
    return this.#given.get(name) ?? undefined;
  }

  has(name: string): boolean {
    return this.value(name) !== undefined;
  }

  /** @throws ToolFailure when it is missing, blank or no text */
  requiredText(name: string): string {
    const text = this.text(name);
    if (text === undefined || text.trim() === '') throw new ToolFailure(`'${name}' is required`);
    return text;
  }

  /** @throws ToolFailure when it is no text */
  text(name: string): string | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === 'string') return value;
    throw new ToolFailure(`'${name}' must be a string`);
  }

  /** Undefined when it is missing or blank. @throws ToolFailure when it is no text */
  filledText(name: string): string | undefined {
    const text = this.text(name);
    return text === undefined || text.trim() === '' ? undefined : text;
  }

  flag(name: string): boolean | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === 'boolean') return value;
    throw new ToolFailure(`'${name}' must be true or false`);
  }

  /** Refused outside its bounds, never clamped. @throws ToolFailure */
  integer(
    name: string,
    bounds: { readonly min: number; readonly max: number },
  ): number | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    const { min, max } = bounds;
    const number = integerOf(value);
    if (number === undefined) throw new ToolFailure(`'${name}' must be an integer`);
    if (number >= min && number <= max) return number;
    const range = max === Number.MAX_SAFE_INTEGER ? `at least ${min}` : `from ${min} to ${max}`;
    throw new ToolFailure(`'${name}' must be ${range}, not ${number}`);
  }

  requiredInteger(name: string, bounds: { readonly min: number; readonly max: number }): number {
    const number = this.integer(name, bounds);
    if (number === undefined) throw new ToolFailure(`'${name}' is required`);
    return number;
  }

  /** @throws ToolFailure when it is no object */
  object(name: string): ValueMap | undefined {
    const value = this.value(name);
    if (value === undefined || isObject(value)) return value;
    throw new ToolFailure(`'${name}' must be an object`);
  }

  list(name: string): readonly Value[] | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    if (Array.isArray(value)) return value as readonly Value[];
    throw new ToolFailure(`'${name}' must be an array`);
  }

  /** @throws ToolFailure when it is no array of texts that are not blank */
  texts(name: string): readonly string[] | undefined {
    return this.list(name)?.map((item) => {
      if (typeof item === 'string' && item.trim() !== '') return item;
      throw new ToolFailure(`'${name}' must hold strings that are not blank`);
    });
  }

  /** @throws ToolFailure when it is no array of finite numbers, or of more than `countMax` */
  numbers(name: string, countMax: number): readonly number[] | undefined {
    const list = this.list(name);
    if (list !== undefined && list.length > countMax)
      throw new ToolFailure(`'${name}' may hold ${countMax} numbers, this one has ${list.length}`);
    return list?.map((item) => {
      const number = numberOf(item);
      if (number !== undefined) return number;
      throw new ToolFailure(`'${name}' must hold finite numbers`);
    });
  }
}

/** A name as it stands in a statement. @throws ToolFailure for one that could end its quotes */
export function quotedName(name: string, argument: string): string {
  if (/[`\\]/.test(name))
    throw new ToolFailure(
      `'${argument}' holds a back-tick or a backslash: ${JSON.stringify(name)}`,
    );
  return `\`${name}\``;
}
